package memory

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Refusal says why a grow was refused.
type Refusal uint8

// Why a grow was refused, if it was.
const (
	NotRefused Refusal = iota
	OverLimit          // of the attempt
	OverBudget         // of the engine
)

// Config of a Memory, in bytes.
type Config struct {
	Initial int64 // charged at once
	Limit   int64 // of the first attempt
	Reserve int64 // of address space: the largest limit that any attempt may have
	Besides int64 // charged for what is not memory, as long as there is the Memory
	// More charges the budget for n more bytes.
	More func(n int64) bool
}

// Memory is the memory of one instance. It reserves its address space once, off the Go heap if the system allows, so that growing never copies. It
// charges the budget for the part in use. There are ways for an instance to end on which wazero does not free it (a cancelled context, and then
// another end), so its owner calls Free as well.
type Memory struct {
	budget  *Budget
	limit   int64 // of the attempt
	charged int64
	besides int64
	size    int64 // of the guest's memory
	region  []byte
	more    func(n int64) bool
	refused Refusal
	peak    int64

	touch touch

	shrinking bool // the next Reallocate makes it size bytes long
}

var (
	_ experimental.LinearMemory    = (*Memory)(nil)
	_ experimental.MemoryAllocator = (*Memory)(nil)
)

// New waits until the memory's beginning fits into the budget, and reserves its address space.
func New(ctx context.Context, b *Budget, cfg Config) (*Memory, error) {
	if err := b.Wait(ctx, cfg.Initial+cfg.Besides); err != nil {
		return nil, err
	}
	region, err := reserve(int(cfg.Reserve))
	if err != nil {
		b.Give(cfg.Initial + cfg.Besides)
		return nil, fmt.Errorf("%w: reserve %d bytes: %w", ErrOverBudget, cfg.Reserve, err)
	}
	return &Memory{budget: b, limit: cfg.Limit, charged: cfg.Initial, besides: cfg.Besides, region: region, more: cfg.More}, nil
}

// Allocate is called by wazero once per instance.
func (m *Memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate makes the memory size bytes long; nil refuses.
func (m *Memory) Reallocate(size uint64) []byte {
	if m.shrinking {
		return m.region[:m.size:m.size]
	}
	if size > uint64(m.limit) {
		m.refused = OverLimit
		return nil
	}
	if more := int64(size) - m.charged; more > 0 {
		if !m.more(more) {
			m.refused = OverBudget
			return nil
		}
		m.charged += more
	}
	m.touch.grow(m.region[:size])
	m.size = int64(size)
	m.peak = max(m.peak, m.size)
	return m.region[:size:size]
}

// shrink makes the memory, which wazero knows as lib, size bytes long again after a guest has grown it; false: it cannot be
// made smaller. Nothing in wasm does so, but wazero takes what Reallocate returns for a memory that has grown by a page.
func (m *Memory) shrink(lib api.Memory, size int64) bool {
	if m.size == size {
		return true
	}
	m.size, m.shrinking = size, true
	_, ok := lib.Grow(1)
	m.shrinking = false
	return ok && int64(lib.Size()) == size
}

// Begin readies the memory for its next attempt.
func (m *Memory) Begin(limit int64) {
	m.limit, m.refused, m.peak, m.charged = limit, NotRefused, m.size, m.size
}

// Keep gives the budget back all but n bytes.
func (m *Memory) Keep(n int64) {
	m.budget.Give(m.charged - n)
	m.charged = n
}

// Size returns how long the guest's memory is.
func (m *Memory) Size() int64 { return m.size }

// Limit returns how long the attempt may make it.
func (m *Memory) Limit() int64 { return m.limit }

// Reserved returns how long any attempt may make it; 0 once it is freed.
func (m *Memory) Reserved() int64 { return int64(len(m.region)) }

// Charged returns what the budget is charged for the guest's memory.
func (m *Memory) Charged() int64 { return m.charged }

// Peak returns how long the attempt has made it at most.
func (m *Memory) Peak() int64 { return m.peak }

// Refused says whether and why the attempt was refused more.
func (m *Memory) Refused() Refusal { return m.refused }

// More charges the budget for n bytes that are not the guest's memory; false: they do not fit.
func (m *Memory) More(n int64) bool { return m.more(n) }

// Free releases everything; a second call does nothing. Views of the memory are invalid afterwards.
func (m *Memory) Free() {
	if m.region != nil {
		release(m.region)
		m.region = nil
	}
	if n := m.charged + m.besides; n > 0 {
		m.budget.Give(n)
		m.charged, m.besides = 0, 0
	}
}
