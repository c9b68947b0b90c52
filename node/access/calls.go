package access

import (
	"context"
	"sync"

	"github.com/taskrt/taskrt/api/auth"
)

// calls are the calls under way that wait, by the number of their token.
type calls struct {
	mu sync.Mutex
	by map[uint64]map[*call]struct{}
}

// call is a call that waits.
type call struct{ cancel context.CancelCauseFunc }

// Long returns a context for a call that waits: when the principal's token no longer holds the context ends, and its cause says so
// (SPEC A4). The caller must call end. A call of nobody is not watched, nor one of a worker secret's token.
func (g *Gate) Long(ctx context.Context, p *auth.Principal) (long context.Context, end func(), err error) {
	if p == nil || p.Members {
		return ctx, func() {}, nil
	}
	long, cancel := context.WithCancelCause(ctx)
	c := &call{cancel}
	g.calls.add(p.Number, c)
	end = func() {
		g.calls.remove(p.Number, c)
		cancel(nil)
	}
	if err := g.Still(p); err != nil { // after add: a change from now on is told to c
		end()
		return nil, nil, err
	}
	return long, end, nil
}

func (cs *calls) add(number uint64, c *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.by[number] == nil {
		cs.by[number] = map[*call]struct{}{}
	}
	cs.by[number][c] = struct{}{}
}

func (cs *calls) remove(number uint64, c *call) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.by[number], c)
	if len(cs.by[number]) == 0 {
		delete(cs.by, number)
	}
}

// end ends the calls of every token for which why returns an error.
func (cs *calls) end(why func(number uint64) error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for number, all := range cs.by {
		err := why(number)
		if err == nil {
			continue
		}
		for c := range all {
			c.cancel(err)
		}
	}
}
