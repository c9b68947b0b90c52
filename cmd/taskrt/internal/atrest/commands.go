package atrest

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/terminal"
)

// Command is a command, and what it does. The program that offers it adds the flags --dir and --output, and variables for all flags.
type Command struct {
	*cli.Command

	Run func(*cli.Context, terminal.Answer) error
}

// Commands are all of them.
func Commands() []Command {
	return []Command{
		{&cli.Command{
			Name: "migrate-log", Usage: "convert a stopped node's log to another format",
			Description: "The new log is written beside the old one, synced, and compared with it entry by entry; then it takes its place at\n" +
				"once, and the old one is removed. Interrupted at any time, the node has the one or the other; run it again to go on.\n" +
				"Start the node with the same --log-store afterwards.",
			Flags: []cli.Flag{&cli.StringFlag{Name: "to", Usage: "bolt or wal"}},
		}, migrateLog},
		{&cli.Command{
			Name: "recover", Usage: "found a new cluster of a stopped node's directory, after a majority was lost for good",
			Description: "Without --cluster it shows what the directory has and what may be lost, and changes nothing. With the ID of the cluster that the\n" +
				"directory belongs to, it makes the directory the first node of a new cluster. What the former cluster has given to workers\n" +
				"and clients holds no longer: leases, sessions, answers under idempotency keys. Interrupted at any time, run it again.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "cluster", Usage: "ID of the cluster that the node belongs to, as this command shows it: go on"},
				&cli.StringSliceFlag{Name: "approve", Usage: "ID of another node that votes as soon as it has joined with an empty directory; may be repeated"},
			},
		}, recoverNode},
		{&cli.Command{
			Name: "moved", Usage: "say that a copied directory is a node's only one: the original is gone",
			Description: "A server does not start on a directory that was copied, because the node may have promised something since. Say this only if the\n" +
				"node was stopped before the copy was made, and never runs on the original again: what it promised in between would be lost.",
		}, moved},
	}
}
