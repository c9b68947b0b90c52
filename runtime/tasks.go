package runtime

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/grants"
)

// children are the tasks that an attempt submits if it succeeds.
type children struct {
	docs  [][]byte // JSON, in the order of their numbers
	bytes int
}

func hostTasksSubmit(g *guest, mem api.Memory, stack []uint64) {
	doc := g.given(mem, abi.FuncTasksSubmit, uint32(stack[0]), uint32(stack[1]))
	if g.phase != phaseRun {
		stack[0] = status(abi.EDENIED)
		return
	}
	errno, err := g.submit(doc)
	if err != nil {
		g.log.write(abi.LogWarn, fmt.Appendf(nil, "a child was refused: %v", err))
		stack[0] = status(errno)
		return
	}
	stack[0] = status(abi.Errno(len(g.submits.docs) - 1))
}

// submit keeps a child.
func (g *guest) submit(doc []byte) (abi.Errno, error) {
	switch {
	case g.host.Signals()&abi.SignalLeaseLost != 0: // it could not succeed any more
		return abi.ECONFLICT, errors.New("the lease is lost, or about to be")
	case len(doc) > abi.MaxChild:
		return abi.E2BIG, fmt.Errorf("it has %d bytes, at most %d", len(doc), abi.MaxChild)
	case len(g.submits.docs) >= abi.MaxChildren:
		return abi.E2BIG, fmt.Errorf("the attempt has %d already", len(g.submits.docs))
	case g.submits.bytes+len(doc) > abi.MaxChildrenBytes:
		return abi.E2BIG, fmt.Errorf("all together would have %d bytes, at most %d", g.submits.bytes+len(doc), abi.MaxChildrenBytes)
	case g.child == nil:
		return abi.EDENIED, grants.ErrDenied
	}
	behavior, err := g.child(doc)
	if err != nil {
		return abi.EINVAL, err
	}
	switch err := g.maySubmit(behavior); {
	case errors.Is(err, ErrLeaseLost):
		return abi.ECONFLICT, err
	case errors.Is(err, grants.ErrDenied):
		return abi.EDENIED, fmt.Errorf("%w: tasks of %s", grants.ErrDenied, behavior)
	case err != nil:
		return abi.EAGAIN, err
	}
	g.submits.docs = append(g.submits.docs, bytes.Clone(doc))
	g.submits.bytes += len(doc)
	return 0, nil
}

// maySubmit returns nil if the guest may submit tasks of a behavior.
func (g *guest) maySubmit(behavior string) (err error) {
	if may := g.attempt.Tasks; may != nil {
		if !may(behavior) {
			return grants.ErrDenied
		}
		return nil
	}
	g.outside(func() { err = outsideOf(g).MaySubmit(g.ctx, behavior) })
	return err
}
