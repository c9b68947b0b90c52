package api

import (
	"context"
	"sync"
)

// Meta is what belongs to an answer but not to its value. A caller that wants it puts a Meta into the context with WithMeta,
// and a Service fills in what it knows. This is the one way for all: for the handler (header Taskrt-Index), for the client
// (which reads this header) and for a node that is called in-process.
type Meta struct {
	mu      sync.Mutex
	index   uint64
	body    []byte
	cluster string
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

// SetCluster tells the caller which cluster has answered, by its ID (header Taskrt-Cluster). Only clients call it.
func SetCluster(ctx context.Context, id string) {
	if m, ok := ctx.Value(metaKey{}).(*Meta); ok && id != "" {
		m.mu.Lock()
		m.cluster = id
		m.mu.Unlock()
	}
}

// Cluster returns the ID of the cluster that gave the last answer; "" if it is not known.
func (m *Meta) Cluster() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster
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
