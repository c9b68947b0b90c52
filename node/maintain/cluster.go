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
	// Propose replicates a command that may be sent twice, trying until it has an answer or ctx ends. A refusal is in the
	// result.
	Propose(ctx context.Context, c task.Command) (task.Result, error)
}

// Disks is what a run learns of the members' disks.
type Disks interface {
	// Members names those whose disks are to be looked at.
	Members() []string
	// Files lists what a member keeps, those after a name, in an order of its own. Fewer than limit: these are all.
	// ErrUnreachable: the member does not answer.
	Files(ctx context.Context, member string, what Area, after string, limit int) ([]File, error)
	// DropLogs deletes logs of a member that were last written before a time. Errors are as those of Files.
	DropLogs(ctx context.Context, member string, token uint64, before task.Time, names []string) (int64, error)
}

// Area is a part of a member's disk.
type Area string

// What members keep in files.
const (
	BlobFiles Area = "blobs" // File.Name is a digest
	LogFiles  Area = "logs"  // File.Name is logs.Name of a task
)

// File is something on a member's disk.
type File struct {
	Name     string    `json:"name"`
	Modified task.Time `json:"modified"`
	// Kind is "" for what belongs in its area. What does not is scanned under this name, and kept: nobody knows it.
	Kind string `json:"kind,omitempty"`
}

// ErrHalt means that the run's token is dead: another run, or none, has its place. It must do nothing more (SPEC M3).
var ErrHalt = errors.New("maintain: the run was superseded or thought dead")

// command proposes a command of the run; a refusal is an error.
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

// RefusedError is a command that the state machine refused.
type RefusedError struct {
	Command task.Command
	Code    task.Code
	Message string
}

func (e *RefusedError) Error() string {
	return "maintain: " + commandName(e.Command) + " was refused: " + string(e.Code) + ": " + e.Message
}

// refused reports whether the state machine refused a command: what it was about has changed since the scan.
func refused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}
