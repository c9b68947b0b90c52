package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// errOverBudget: the engine cannot give a guest even its initial memory.
var errOverBudget = errors.New("the host's memory budget for guests is too small")

// budget is the memory that all guests of an engine share.
type budget struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	waiting []*admission // first come, first served, so that a big guest is not starved by small ones
	// relieve, if set, is asked to give back what is only kept for later, when something does not fit. It may give nothing.
	// It is called without the lock.
	relieve func()
}

// admission waits for n bytes. granted is closed under the budget's lock once they are charged to it.
type admission struct {
	n       int64
	granted chan struct{}
}

// take charges n bytes if they fit now. Guests that run go before those that wait to begin: the latter only wait.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charge(n)
}

// enter charges n bytes if they fit now and nobody waits.
func (b *budget) enter(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && b.charge(n)
}

// short says whether somebody waits.
func (b *budget) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) > 0
}

func (b *budget) charge(n int64) bool {
	if b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// wait charges n bytes as soon as they fit, or returns the cause that ended ctx, or errOverBudget if they never will.
func (b *budget) wait(ctx context.Context, n int64) error {
	if n > b.limit {
		return errOverBudget
	}
	b.mu.Lock()
	if len(b.waiting) == 0 && b.charge(n) {
		b.mu.Unlock()
		return nil
	}
	a := &admission{n: n, granted: make(chan struct{})}
	b.waiting = append(b.waiting, a)
	b.mu.Unlock()
	if b.relieve != nil {
		b.relieve()
	}

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

// give returns n bytes.
func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.admit()
}

func (b *budget) admit() {
	for len(b.waiting) > 0 && b.charge(b.waiting[0].n) {
		close(b.waiting[0].granted)
		b.waiting = b.waiting[1:]
	}
}

// refusal says why a grow was refused.
type refusal uint8

const (
	notRefused refusal = iota
	overLimit          // of the attempt
	overBudget         // of the engine
)

// linearMemory is the memory of one instance. It reserves its limit once, off the Go heap where the system allows, so
// that growing never copies; it charges the engine's budget for what is in use. wazero frees it only on some of the ways
// on which an instance ends (not after a cancelled context met another end), so its owner calls Free as well.
type linearMemory struct {
	budget  *budget
	limit   int64 // of the attempt
	charged int64
	besides int64 // charged for what is not memory
	size    int64 // of the guest's memory
	region  []byte
	more    func(n int64) bool // charges the budget for n more bytes
	refused refusal
	peak    int64

	touch touch

	shrinking bool // the next Reallocate makes it size bytes long
}

var (
	_ experimental.LinearMemory    = (*linearMemory)(nil)
	_ experimental.MemoryAllocator = (*linearMemory)(nil)
)

// newLinearMemory waits until initial bytes fit into the budget, and reserves limit bytes of address space.
// besides is charged as long as the instance exists.
func newLinearMemory(ctx context.Context, b *budget, initial, limit, besides int64) (*linearMemory, error) {
	if err := b.wait(ctx, initial+besides); err != nil {
		return nil, err
	}
	region, err := reserve(int(limit))
	if err != nil {
		b.give(initial + besides)
		return nil, fmt.Errorf("%w: reserve %d bytes: %w", errOverBudget, limit, err)
	}
	return &linearMemory{budget: b, limit: limit, charged: initial, besides: besides, region: region, more: b.take}, nil
}

// Allocate is called by wazero once per instance.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate makes the memory size bytes long; nil refuses.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if m.shrinking {
		return m.region[:m.size:m.size]
	}
	if size > uint64(m.limit) {
		m.refused = overLimit
		return nil
	}
	if more := int64(size) - m.charged; more > 0 {
		if !m.more(more) {
			m.refused = overBudget
			return nil
		}
		m.charged += more
	}
	m.touch.grow(m.region[:size])
	m.size = int64(size)
	m.peak = max(m.peak, m.size)
	return m.region[:size:size]
}

// shrink makes the memory, of which mem is the library's side, size bytes long again after a guest that has grown it; false: it
// cannot be. Nothing in wasm does so, but the library takes what Reallocate returns for a memory that has grown by a page.
func (m *linearMemory) shrink(mem api.Memory, size int64) bool {
	if m.size == size {
		return true
	}
	m.size, m.shrinking = size, true
	_, ok := mem.Grow(1)
	m.shrinking = false
	return ok && int64(mem.Size()) == size
}

// begin readies the memory for its next attempt.
func (m *linearMemory) begin(limit int64) {
	m.limit, m.refused, m.peak, m.charged = limit, notRefused, m.size, m.size
}

// keep gives the budget back all but n bytes.
func (m *linearMemory) keep(n int64) {
	m.budget.give(m.charged - n)
	m.charged = n
}

// Free releases everything; a second call does nothing. Views of the memory are invalid afterwards.
func (m *linearMemory) Free() {
	if m.region != nil {
		release(m.region)
		m.region = nil
	}
	if n := m.charged + m.besides; n > 0 {
		m.budget.give(n)
		m.charged, m.besides = 0, 0
	}
}
