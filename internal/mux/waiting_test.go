package mux

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSilentConnectionsAreBounded: so many may wait for their first byte; one more, and the one that has waited longest is closed at once,
// no other (SPEC A11).
func TestSilentConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		m := New(ln, nil)
		raft := m.Listen(Raft)
		var wg sync.WaitGroup
		wg.Go(func() { _ = m.Serve() })
		const more = 3
		var far []net.Conn
		for range maxWaiting + more {
			near, end := net.Pipe()
			far = append(far, end)
			ln.conns <- near
		}
		synctest.Wait()
		m.mu.Lock()
		waiting := m.waiting.Len()
		m.mu.Unlock()
		if waiting != maxWaiting {
			t.Errorf("%d connections wait", waiting)
		}
		for i, c := range far[:more] {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // a pipe's own
				t.Errorf("connection %d: %v", i, err)
			}
		}
		if _, err := far[more].Write([]byte{byte(Raft)}); err != nil { // the next one in age still may speak
			t.Error(err)
		}
		c, err := raft.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		m.Close()
		wg.Wait()
	})
}
