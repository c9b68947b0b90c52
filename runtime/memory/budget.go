package memory

import (
	"context"
	"errors"
	"sync"
)

// ErrOverBudget says that a budget cannot give a guest even its initial memory.
var ErrOverBudget = errors.New("the host's memory budget for guests is too small")

// Budget is the memory that all guests of an engine share.
type Budget struct {
	limit   int64
	relieve func()

	mu      sync.Mutex
	used    int64
	waiting []*admission // first come, first served, so that a big guest is not starved by small ones
}

// NewBudget returns a budget of limit bytes. relieve is called when somebody has to wait: it may give back what is only
// kept for later.
func NewBudget(limit int64, relieve func()) *Budget {
	return &Budget{limit: limit, relieve: relieve}
}

// admission waits for n bytes. granted is closed under the budget's lock once they are charged to it.
type admission struct {
	n       int64
	granted chan struct{}
}

// Take charges n bytes if they fit now. Guests that run go before guests that wait to begin, because these only wait.
func (b *Budget) Take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charge(n)
}

// Enter charges n bytes if they fit now and nobody waits.
func (b *Budget) Enter(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && b.charge(n)
}

// Used returns how many bytes are charged.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Short says whether somebody waits.
func (b *Budget) Short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}

func (b *Budget) charge(n int64) bool {
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// Wait charges n bytes as soon as they fit, or returns the cause that ended ctx, or ErrOverBudget if they never will.
func (b *Budget) Wait(ctx context.Context, n int64) error {
	if n > b.limit {
		return ErrOverBudget
	}
	b.mu.Lock()
	if len(b.waiting) == 0 && b.charge(n) {
		b.mu.Unlock()
		return nil
	}
	a := &admission{n: n, granted: make(chan struct{})}
	b.waiting = append(b.waiting, a)
	b.mu.Unlock()
	b.relieve()

	select {
	case <-a.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-a.granted: // both at once: give it back
		b.used -= n
	default:
		for i := range b.waiting {
			if b.waiting[i] == a {
				b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
				break
			}
		}
	}
	b.admit()
	return context.Cause(ctx)
}

// Give returns n bytes.
func (b *Budget) Give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.admit()
}

func (b *Budget) admit() {
	for len(b.waiting) > 0 && b.charge(b.waiting[0].n) {
		close(b.waiting[0].granted)
		b.waiting = b.waiting[1:]
	}
}
