package snapshots

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/node/restoring"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// Kit is what the commands have in common with all others.
type Kit struct {
	Stdin io.Reader
	// Answer is where a command answers, in the form that --output names.
	Answer func(*cli.Context) (terminal.Answer, error)
	// String, Bool, Int and List make flags of a command.
	String func(command, name, value, usage string, aliases ...string) cli.Flag
	Bool   func(command, name, usage string) cli.Flag
	Int    func(command, name string, value int, usage string) cli.Flag
	List   func(command, name, usage string) cli.Flag
	// ClientFlags are the flags of a command that asks a cluster, and OutputFlag is the flag of any other command.
	ClientFlags func(more ...cli.Flag) []cli.Flag
	OutputFlag  func() cli.Flag
	ColumnsFlag func(command string) cli.Flag
	// LogStoreFlag and LogStore say in which format a new node's log is written.
	LogStoreFlag func(command string) cli.Flag
	LogStore     func(*cli.Context) (logstore.Kind, error)
	// Online makes the action of a command that asks a cluster.
	Online func(Online) cli.ActionFunc
}

// Online is a command that asks a cluster.
type Online func(*cli.Context, context.Context, *apiclient.Client) error

// action does what a command says. The client is nil for a command that asks no cluster.
type action func(*cli.Context, context.Context, *apiclient.Client, terminal.Answer) error

// run carries a command out.
func (k *Kit) run(c *cli.Context, ctx context.Context, cl *apiclient.Client, do action) error { //nolint:revive // a cli.Context comes first everywhere
	out, err := k.Answer(c)
	if err != nil {
		return err
	}
	err = do(c, ctx, cl, out)
	if code := exitCode(c, err); code != 0 {
		return exit.With(code, err)
	}
	return err
}

func (k *Kit) online(do action) cli.ActionFunc {
	return k.Online(func(c *cli.Context, ctx context.Context, cl *apiclient.Client) error { return k.run(c, ctx, cl, do) })
}

func (k *Kit) offline(do action) cli.ActionFunc {
	return func(c *cli.Context) error { return k.run(c, c.Context, nil, do) }
}

const name = "snapshot"

// Command is `taskrt snapshot`.
func Command(k Kit) *cli.Command {
	return &cli.Command{
		Name: name, Usage: "back up a whole cluster, verify a backup, make a new cluster of one", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "save", Usage: "write a backup of the cluster as it is now; FILE is there only when it is whole, - is standard output", ArgsUsage: "FILE",
				Flags: k.ClientFlags(
					k.Bool(name, "without-blobs", "the state alone, without the files of the blob store"),
					k.Bool(name, "allow-missing", "go on without files that no node has"),
					k.List(name, "encrypt-to", "public key of age (age1…) whose owner alone can read the backup; may be repeated"),
					k.Int(name, "rate", snapshot.DefaultRate>>20, "MiB per second that the node reads, before they are packed"),
				),
				Action: k.online(runSave),
			},
			{
				Name: "inspect", Usage: "show what a backup says of itself, without reading all of it; - is standard input", ArgsUsage: fileOrTarget,
				Flags: append(k.targetFlags(), k.identityFlag(), k.OutputFlag()),
				Action: k.reading(func(_ *cli.Context, ctx context.Context, from source, out terminal.Answer) error {
					return inspect(ctx, from, out)
				}),
			},
			{
				Name: "verify", Usage: "restore a backup in memory, run every check, hash every file; - is standard input", ArgsUsage: fileOrTarget,
				Flags: append(k.targetFlags(), k.identityFlag(), k.OutputFlag()),
				Action: k.reading(func(_ *cli.Context, ctx context.Context, from source, out terminal.Answer) error {
					return verify(ctx, from, out)
				}),
			},
			restoreCommand(k),
			{
				Name: "list", Usage: "list the backups that the servers have put to --backup-to, the newest last", ArgsUsage: "TARGET",
				Flags: []cli.Flag{k.clusterFlag(), k.OutputFlag(), k.ColumnsFlag(name)}, Action: k.offline(runList),
			},
			{Name: "status", Usage: "show when the servers have backed the cluster up, and when they do it again", Flags: k.ClientFlags(), Action: k.online(runStatus)},
			nowCommand(k),
			{Name: "holds", Usage: "show which backups keep files from being dropped", Flags: k.ClientFlags(k.ColumnsFlag(name)), Action: k.online(runHolds)},
		},
	}
}

func (k *Kit) identityFlag() cli.Flag {
	return k.List(name, "identity", "file with a secret key of age, for a backup that is encrypted; may be repeated")
}

// reading is the action of a command that reads a backup.
func (k *Kit) reading(do func(*cli.Context, context.Context, source, terminal.Answer) error) cli.ActionFunc {
	return k.offline(func(c *cli.Context, ctx context.Context, _ *apiclient.Client, out terminal.Answer) error {
		keys, err := sealed.Identities(c.StringSlice("identity"))
		if err != nil {
			return cmdline.Usagef(c, "--identity: %w", err)
		}
		from := source{path: c.Args().First(), stdin: k.Stdin, keys: keys}
		if from.of, err = choose(c, ctx); err != nil {
			return err
		}
		return do(c, ctx, from, out)
	})
}

func runSave(c *cli.Context, ctx context.Context, cl *apiclient.Client, out terminal.Answer) error { //nolint:revive // a cli.Context comes first everywhere
	r := snapshot.SaveRequest{WithoutBlobs: c.Bool("without-blobs"), AllowMissing: c.Bool("allow-missing"), Rate: int64(c.Int("rate")) << 20}
	if c.Int("rate") <= 0 {
		return cmdline.Usagef(c, "--rate is at least 1 MiB per second")
	}
	keys, err := sealed.Recipients(c.StringSlice("encrypt-to"))
	if err != nil {
		return cmdline.Usagef(c, "--encrypt-to: %w", err)
	}
	return save(ctx, apiclient.NewSnapshots(cl), r, c.Args().First(), keys, out)
}

func runHolds(_ *cli.Context, ctx context.Context, cl *apiclient.Client, out terminal.Answer) error { //nolint:revive // a cli.Context comes first everywhere
	r, err := apiclient.NewSnapshots(cl).Holds(ctx)
	if err != nil {
		return err
	}
	return out.Show(r, func(w *terminal.Table) { showHolds(w, r) })
}

func restoreCommand(k Kit) *cli.Command {
	const cmd = "restore"
	return &cli.Command{
		Name: cmd, Usage: "make an empty directory the first node of a new cluster that begins with a backup", ArgsUsage: fileOrTarget,
		Description: "The backup is verified first. The new cluster has another ID. What the former cluster has given to workers and clients holds no\n" +
			"longer: leases, sessions, answers under idempotency keys. Interrupted at any time, run it again: no server starts before.",
		Flags: append(k.targetFlags(),
			k.String(cmd, "dir", "", "--dir of the server that will run on it: a directory that is empty, or not there"),
			k.String(cmd, "id", "", "ID of the first node"),
			k.String(cmd, "tokens", "", "keep or drop the access tokens of the former cluster; there is no default"),
			k.List(cmd, "approve", "ID of another node that votes as soon as it has joined with an empty directory; may be repeated"),
			k.Bool(cmd, "allow-missing", "restore a backup that lacks files which its state knows"),
			k.LogStoreFlag(cmd), k.identityFlag(), k.OutputFlag(),
		),
		Action: k.reading(func(c *cli.Context, ctx context.Context, from source, out terminal.Answer) error {
			p := restoring.Plan{Dir: c.String("dir"), Node: c.String("id"), Approve: c.StringSlice("approve"), AllowMissing: c.Bool("allow-missing")}
			var err error
			if p.Log, err = k.LogStore(c); err != nil {
				return err
			}
			switch p.DropTokens = c.String("tokens") == "drop"; {
			case p.Dir == "":
				return cmdline.Usagef(c, "--dir is required")
			case !p.DropTokens && c.String("tokens") != "keep":
				return cmdline.Usagef(c, "--tokens is keep or drop: whoever has an access token of the former cluster can use it with the new one, or cannot")
			case from.path == "-":
				return cmdline.Usagef(c, "a backup is read twice to be restored: name a file")
			}
			for _, id := range append([]string{p.Node}, p.Approve...) {
				if err := api.CheckNode(id); err != nil {
					return cmdline.Usagef(c, "--id, --approve: %w", err)
				}
			}
			if err := restore(ctx, from, p, out); errors.Is(err, restoring.ErrNotEmpty) {
				return cmdline.Usagef(c, "--dir: %w", err)
			} else if err != nil {
				return err
			}
			return nil
		}),
	}
}

// exitCode returns the exit code of an error about a backup; 0: the error has one already.
func exitCode(c *cli.Context, err error) int {
	_, usage := errors.AsType[*cmdline.Error](err)
	_, onDisk := errors.AsType[*fs.PathError](err)
	_, coded := errors.AsType[*exit.Error](err)
	switch {
	case err == nil || usage || coded || onDisk || api.CodeOf(err) != "" || c.Err() != nil:
		return 0
	case errors.Is(err, backup.ErrBrokenOff):
		return exit.Refused
	case errors.Is(err, backup.ErrTruncated) && c.Command.Name == "save": // the connection broke
		return exit.Unreachable
	}
	return exit.File
}
