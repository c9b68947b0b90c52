// Package exit is the exit codes of taskrt: what each says, and whether it helps to start a server or a worker again (SPEC section 12, C10).
package exit

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/worker"
)

// The exit codes.
const (
	OK          = 0
	TaskFailed  = 1
	Stopped     = 1 // of a member: it had to stop
	Usage       = 2
	Unreachable = 3
	TimedOut    = 4
	Refused     = 5
	File        = 6
	Start       = 7                  // of a member: it could not start
	Over        = 8                  // of a member: its directory takes part no longer
	Overrun     = worker.ExitOverrun // of a member: a guest could not be stopped
	Interrupted = 130                // as shells have it
)

// Again says whether it helps to start a member again with the same command line.
type Again string

// Whether it helps. A supervisor starts a member again but for Never.
const (
	Never   Again = "does not help"
	Later   Again = "after a pause"
	AtOnce  Again = "at once"
	NoCause Again = "nobody asks for it"
)

// Meaning is what a code says.
type Meaning struct {
	Code    int
	Command string // of a command that asks a cluster or reads files; "": it never ends so
	Member  string // of server, worker and dev; "": they never end so
	Again   Again  // of a member
}

// Meanings are all codes. The tables of docs/use-the-api.md and docs/run-a-cluster.md, and --help, have the same words.
var Meanings = []Meaning{
	{OK, "done", "it was asked to stop", NoCause},
	{Stopped, "the task or operation failed, or was removed", "it had to stop: the log says why", Later},
	{Usage, "bad usage", "the command line or the file of variables makes no sense", Never},
	{Unreachable, "no server, no leader, or nobody knows whether the request was done", "", ""},
	{TimedOut, "the time to wait is over", "", ""},
	{Refused, "refused by the server", "", ""},
	{File, "a file cannot be read or written", "a file that a flag names cannot be read or written", Never},
	{Start, "", "it could not start: standard error says why", Later},
	{Over, "", "its directory takes part no longer: the node was removed from its cluster, or has gone on with another directory", Never},
	{Overrun, "", "a guest could not be stopped before its lease ended, so the process that ran the guest ended itself", AtOnce},
	{Interrupted, "interrupted", "", ""},
}

// Help is all codes for --help, a line each.
func Help() string {
	lines, members := []string{"Exit codes:"}, []string{"Exit codes of server, worker and dev:"}
	for _, m := range Meanings {
		if m.Command != "" {
			lines = append(lines, fmt.Sprintf("%5d %s", m.Code, m.Command))
		}
		if m.Member != "" {
			members = append(members, fmt.Sprintf("%5d %s", m.Code, m.Member))
		}
		if m.Again == Never {
			members[len(members)-1] += " (to start it again does not help)"
		}
	}
	return strings.Join(append(lines, members...), "\n")
}
