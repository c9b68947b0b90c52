package service

import (
	"context"
	"errors"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
)

// storeError turns an error of the replicated store into an error of the API. sent says that a command was on its way:
// then the outcome is unknown if the context ended (SPEC H4).
func storeError(err error, sent bool) error {
	switch {
	case err == nil:
		return nil
	case api.CodeOf(err) != "":
		return err
	case errors.Is(err, raftstore.ErrOutcomeUnknown): // first: it wraps errors which say that nothing was done
		return api.NewError(api.CodeOutcomeUnknown, "it may or may not have been done; it is safe to send it again")
	case errors.Is(err, raftstore.ErrStalled): // before ErrOverloaded, because it is that, too
		return api.NewError(api.CodeNotReady, "the log does not move: a disk hangs, or a majority of the nodes is away; nothing was done; try again")
	case errors.Is(err, raftstore.ErrOverloaded):
		return api.NewError(api.CodeOverloaded, "too much is waiting to be written; try again")
	case errors.Is(err, raftstore.ErrBehind) && !sent:
		return api.NewError(api.CodeNotReady, "this node has not caught up with the cluster; ask another")
	case errors.Is(err, raftstore.ErrNoLeader), errors.Is(err, raftstore.ErrNotLeader):
		return api.NewError(api.CodeNoLeader, "the cluster has no leader now; nothing was done")
	case errors.Is(err, raftstore.ErrClosed), errors.Is(err, raftstore.ErrStopped):
		return api.NewError(api.CodeNotReady, "this node is stopping and nothing was done; ask another")
	case errors.Is(err, raftstore.ErrLevel):
		return api.NewError(api.CodeLevelTooLow, "%v", err)
	case errors.Is(err, raftstore.ErrTooLarge):
		return api.NewError(api.CodeTooLarge, "it does not fit into an entry of the log")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if sent {
			return api.NewError(api.CodeOutcomeUnknown, "it took too long: it may or may not have been done")
		}
		return api.NewError(api.CodeNoLeader, "it took too long to reach the leader")
	}
	return api.NewError(api.CodeInternal, "%v", err)
}

// firstError returns the first error that is not nil. api.Service returns *api.Error values, never joined errors.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
