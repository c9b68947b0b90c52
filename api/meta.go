package api

import (
	"context"
	"sync"
)

// Meta is what belongs to an answer but not to its value. A caller that wants it puts a Meta into the context with WithMeta,
// and a Service fills in what it knows. This is the one way for all: for the handler (header Taskrt-Index), for the client
// (which reads this header) and for a node that is called in-process.
type Meta struct {
	mu    sync.Mutex
	index uint64
	body  []byte
}

type metaKey struct{}

// WithMeta returns a context whose calls fill in the Meta.
func WithMeta(ctx context.Context) (context.Context, *Meta) {
	m := &Meta{}
	return context.WithValue(ctx, metaKey{}, m), m
}

// SetIndex tells the caller the log index at which an answer was true (SPEC W4, header Taskrt-Index). The highest index wins.
func SetIndex(ctx context.Context, index uint64) {
	if m, ok := ctx.Value(metaKey{}).(*Meta); ok {
		m.mu.Lock()
		m.index = max(m.index, index)
		m.mu.Unlock()
	}
}

// SetBody tells the caller from which JSON answer a value was read. Only clients call it.
func SetBody(ctx context.Context, body []byte) {
	if m, ok := ctx.Value(metaKey{}).(*Meta); ok {
		m.mu.Lock()
		m.body = body
		m.mu.Unlock()
	}
}

// Index returns the log index of the answer, 0 if none is known.
func (m *Meta) Index() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index
}

// Body returns the last JSON answer, byte for byte as the server sent it. It is nil for a Service in-process. The caller must
// not change it.
func (m *Meta) Body() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.body
}
