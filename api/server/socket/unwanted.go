package socket

import (
	"context"

	"github.com/taskrt/taskrt/api/stream"
)

// unwanted is what undoes requests of a connection whose answers their clients may not take. The latest stay longest: at least as many as a client
// may have under way, or those of the time between two pings, whichever ends first.
type unwanted struct {
	young, old map[uint64]func() // by the requests' numbers
}

func (u *unwanted) keep(n uint64, undo func()) {
	if len(u.young) >= stream.MaxUnderWay {
		u.age()
	}
	if u.young == nil {
		u.young = map[uint64]func(){}
	}
	u.young[n] = undo
}

// take returns what undoes a request, and forgets it; nil: nothing does.
func (u *unwanted) take(n uint64) (undo func()) {
	for _, m := range []map[uint64]func(){u.old, u.young} {
		if f := m[n]; f != nil {
			undo = f
			delete(m, n)
		}
	}
	return undo
}

// age forgets what is old.
func (u *unwanted) age() { u.young, u.old = nil, u.young }

// IfUnwanted lets undo be called if the client of a request over a stream cancels it when its answer is ready, or has gone already: such a client
// has not had the answer, and will not take it. Over HTTP nobody can say so. A caller says this before it looks whether the request's context
// has ended, so a cancel is either seen there or calls undo, or both.
func IfUnwanted(ctx context.Context, undo func()) {
	if a, ok := ctx.Value(overStream{}).(*answer); ok {
		a.conn.mu.Lock()
		defer a.conn.mu.Unlock()
		a.conn.unwanted.keep(a.n, undo)
	}
}
