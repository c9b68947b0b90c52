package service

import (
	"context"
	"errors"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// readTimeout bounds how long a read waits for a leader, or for an index, before it is answered with an error.
const readTimeout = 10 * time.Second

// readOptions say how fresh a read must be (SPEC W4).
type readOptions struct {
	stale    bool
	minIndex uint64
}

// lagTimeout is how long a stale read waits for an index that this node lacks. Then it asks the cluster whether there
// is such an index.
const lagTimeout = 500 * time.Millisecond

// read runs fn on the state of this node's machine once it is fresh enough. fn must be short and must not block.
func (svc *Service) read(ctx context.Context, o readOptions, fn func(*task.Machine)) error {
	rctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	beyond := error(nil)
	noted := func(m *task.Machine) {
		if o.minIndex > m.Index() {
			beyond = beyondLog(o.minIndex, m.Index())
			return
		}
		api.SetIndex(ctx, m.Index())
		fn(m)
	}
	if o.stale {
		switch err := svc.reached(rctx, o.minIndex); {
		case err == nil:
			svc.store.Local(noted)
			return nil
		case !errors.Is(err, raftstore.ErrBehind) || rctx.Err() != nil:
			return storeError(err, false)
		}
	}
	// This read has whatever was acknowledged before the request came. So an index beyond it was never told to anybody.
	return firstError(storeError(svc.store.Read(rctx, noted), false), beyond)
}

// reached waits for an index that this node will have soon if there is such an index. Index 0 is always there.
func (svc *Service) reached(ctx context.Context, index uint64) error {
	if index == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	return svc.store.WaitIndex(ctx, index)
}

func beyondLog(asked, last uint64) error {
	return api.FieldError(api.CodeInvalidField, "min_index", "%d is beyond the log, which ends at %d: it is not an index that this cluster has told", asked, last)
}

// lookedAt is how many records one look at the machine passes over. A filter may select few of very many records, and
// nothing is applied during a look.
const lookedAt = 10_000

// look is read for requests that take many looks. Between two looks others have the machine. It ends with the first
// look that wants no more, or with ctx.
func (svc *Service) look(ctx context.Context, o readOptions, fn func(*task.Machine) (more bool)) error {
	more := false
	err := svc.read(ctx, o, func(m *task.Machine) { more = fn(m) })
	for err == nil && more {
		if err = ctx.Err(); err == nil {
			svc.store.Local(func(m *task.Machine) { more = fn(m) })
		}
	}
	return err
}

// readNamespace reads linearizably in a namespace that must exist. It turns "" into the default namespace.
func (svc *Service) readNamespace(ctx context.Context, namespace *string, fn func(*task.Machine)) error {
	if *namespace == "" {
		*namespace = task.DefaultNamespace
	}
	missing := false
	err := svc.read(ctx, readOptions{}, func(m *task.Machine) {
		if missing = !m.NamespaceExists(*namespace); !missing {
			fn(m)
		}
	})
	if err == nil && missing {
		err = spaces.Unknown(*namespace)
	}
	return err
}

// catchUp brings this node's state to what the cluster had decided when it was called.
func (svc *Service) catchUp(ctx context.Context) error {
	return svc.read(ctx, readOptions{}, func(*task.Machine) {})
}

// catchUpTo waits until this node has applied an index that the leader has.
func (svc *Service) catchUpTo(ctx context.Context, index uint64) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return storeError(svc.store.WaitIndex(ctx, index), true)
}
