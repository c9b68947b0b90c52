package audit

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// How often a node tells the log of refusals (SPEC A8). The log bounds the records of all nodes together.
const (
	tellPause = time.Second
	tellMost  = 10          // kinds of refusals at a time
	tellEvery = time.Minute // of one kind
	maxKinds  = 1000        // that are counted apart
	otherKind = "(other)"   // the route of what is more
)

// Refusals counts the requests that this node refuses for lack of a role, by token, route and namespace, and tells the log of them. Its memory is
// bounded: when there are too many kinds, the routes of a token are counted together, and then nothing more.
type Refusals struct {
	mu    sync.Mutex
	kinds map[kind]*counted
	some  chan struct{} // there is something to tell
}

type kind struct {
	token            uint64
	route, namespace string
}

type counted struct {
	untold int64
	from   string    // of the last one
	told   time.Time // zero: never
}

// NewRefusals makes a counter. It tells nothing before Run.
func NewRefusals() *Refusals {
	return &Refusals{kinds: map[kind]*counted{}, some: make(chan struct{}, 1)}
}

// Count counts one request. Who has no number, as a worker secret's token, is not counted.
func (r *Refusals) Count(x auth.Refusal) {
	if x.Token == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.of(kind{x.Token, x.Route, x.Namespace})
	if c == nil {
		return
	}
	c.untold++
	c.from = x.From
	select {
	case r.some <- struct{}{}:
	default:
	}
}

func (r *Refusals) of(k kind) *counted {
	if c := r.kinds[k]; c != nil {
		return c
	}
	if len(r.kinds) >= maxKinds {
		k = kind{k.token, otherKind, ""}
		if c := r.kinds[k]; c != nil || len(r.kinds) >= 2*maxKinds {
			return c
		}
	}
	c := &counted{}
	r.kinds[k] = c
	return c
}

// Run tells the log until ctx ends. again says that nothing was told, and that it must be told later.
func (r *Refusals) Run(ctx context.Context, tell func(context.Context, []task.Refusal) (again bool)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.some:
		}
		for more := true; more; {
			pause := time.NewTimer(tellPause)
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
			var due []task.Refusal
			if due, more = r.due(time.Now()); len(due) > 0 && tell(ctx, due) {
				r.back(due)
				more = true
			}
		}
	}
}

// due takes out what is to be told now, the most frequent first, and forgets what was told long ago. more says that something is left.
func (r *Refusals) due(now time.Time) (due []task.Refusal, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, c := range r.kinds {
		rests := !c.told.IsZero() && now.Sub(c.told) < tellEvery
		switch {
		case c.untold == 0 && !rests:
			delete(r.kinds, k)
		case rests:
			more = true // it is told, or forgotten, when the minute is over
		default:
			due = append(due, task.Refusal{
				Token: k.token, From: audit.Cut(c.from, audit.MaxFrom), Route: audit.Cut(k.route, audit.MaxRoute), Namespace: k.namespace, Count: c.untold,
			})
		}
	}
	slices.SortFunc(due, func(a, b task.Refusal) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Namespace, b.Namespace))
	})
	if len(due) > tellMost {
		due, more = due[:tellMost], true
	}
	for _, x := range due {
		c := r.kinds[kind{x.Token, x.Route, x.Namespace}]
		c.untold, c.told = 0, now
	}
	return due, more
}

// back counts again what could not be told.
func (r *Refusals) back(due []task.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range due {
		if c := r.of(kind{x.Token, x.Route, x.Namespace}); c != nil {
			c.untold, c.told = c.untold+x.Count, time.Time{}
		}
	}
}
