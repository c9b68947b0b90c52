package maintain

import (
	"context"
	"errors"

	"github.com/taskrt/taskrt/task"
)

// Cluster is what a run reaches of the replicated state.
type Cluster interface {
	// Local runs fn on this node's state. fn must be short: nothing is applied meanwhile.
	Local(fn func(*task.Machine))
	// CatchUp returns when this node's state has all that was committed when it was called.
	CatchUp(ctx context.Context) error
	// Propose replicates a command that may be sent twice. It tries until it has an answer or ctx ends. The result may
	// be a refusal.
	Propose(ctx context.Context, c task.Command) (task.Result, error)
}

// Disks is how a run reaches the members' disks.
type Disks interface {
	// Members names the members whose disks the run looks at.
	Members() []string
	// Files lists what a member keeps behind the name after, in an order of its own. If it returns fewer than limit
	// there are no more. ErrUnreachable says that the member does not answer.
	Files(ctx context.Context, member string, what Area, after string, limit int) ([]File, error)
	// DropLogs deletes logs of a member that were last written before a time. Its errors mean the same as the errors of
	// Files.
	DropLogs(ctx context.Context, member string, token uint64, before task.Time, names []string) (int64, error)
}

// Area is a part of a member's disk.
type Area string

// The areas of a member's disk.
const (
	BlobFiles Area = "blobs" // File.Name is a digest
	LogFiles  Area = "logs"  // File.Name is logs.Name of a task
)

// File is something on a member's disk.
type File struct {
	Name     string    `json:"name"`
	Modified task.Time `json:"modified"`
	// Kind is "" for a file that belongs in its area. Any other file is counted under this kind and stays, because
	// nobody knows it.
	Kind string `json:"kind,omitempty"`
}

// ErrHalt says that the run's token is dead: another run, or none, is under way now. This run must do nothing more
// (SPEC M3).
var ErrHalt = errors.New("maintain: the run was superseded or thought dead")

// command proposes a command of the run. A refusal is returned as an error.
func (r *Run) command(ctx context.Context, c task.Command) (task.Result, error) {
	res, err := r.cluster.Propose(ctx, c)
	switch {
	case err != nil:
		return res, err
	case res.Code == task.Halt:
		return res, ErrHalt
	case res.Code != task.OK:
		return res, &RefusedError{Command: c, Code: res.Code, Message: res.Message}
	}
	return res, nil
}

// RefusedError says that the state machine refused a command.
type RefusedError struct {
	Command task.Command
	Code    task.Code
	Message string
}

func (e *RefusedError) Error() string {
	return "maintain: " + commandName(e.Command) + " was refused: " + string(e.Code) + ": " + e.Message
}

// refused reports whether err says that the state machine refused a command: what the command was about has changed
// since the scan.
func refused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}
