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

// FuzzFirstByte: whatever a stranger sends first, the connection goes to the protocol that its first byte names, with all that follows it, or is
// closed. It does not stay among those who wait (SPEC A11).
func FuzzFirstByte(f *testing.F) {
	f.Add([]byte{byte(Raft)})
	f.Add([]byte{byte(Blob), 'a', 'b'})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{})
	f.Add([]byte{0x16, 3, 1})
	f.Fuzz(func(t *testing.T, said []byte) {
		ln := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		m := New(ln, nil)
		raft := m.Listen(Raft)
		var wg sync.WaitGroup
		wg.Go(func() { _ = m.Serve() })
		near, far := net.Pipe()
		ln.conns <- near
		taken := make(chan []byte, 1)
		wg.Go(func() {
			defer close(taken)
			if c, err := raft.Accept(); err == nil {
				rest, _ := io.ReadAll(c)
				c.Close()
				taken <- rest
			}
		})
		_, _ = far.Write(said) // it fails where the port hangs up
		if len(said) > 0 && said[0] == byte(Raft) {
			far.Close()
			if rest := <-taken; string(rest) != string(said[1:]) {
				t.Errorf("%q is left of %q", rest, said)
			}
		} else {
			if len(said) == 0 {
				far.Close()
			}
			if n, err := far.Read(make([]byte, 1)); err == nil || n > 0 {
				t.Errorf("%q is answered", said)
			}
		}
		far.Close()
		m.Close()
		wg.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.waiting.Len(); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}
