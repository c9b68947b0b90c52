// Package mux serves several protocols on one TCP port: the first byte of a connection names the protocol (rqlite and Nomad do
// the same). TLS, once there is any, ends before this byte, so all protocols share its certificates.
package mux

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Protocol is the first byte of a connection.
type Protocol byte

// These are the protocols of the node-to-node port. Numbers are part of the wire format: never reuse a number.
const (
	Raft    Protocol = 1 // hashicorp/raft's NetworkTransport
	Propose Protocol = 2 // raftstore: forwarded proposals, ReadIndex, join, digests
	Stream  Protocol = 3 // worker: session streams
	Blob    Protocol = 4 // blob: files by digest
	Peer    Protocol = 5 // node: status and logs of one member
	Accept  Protocol = 6 // node: accepts of external workers, on their way to the leader
)

// Network lets components listen and dial. Mux implements it over TCP, internal/memnet in memory.
type Network interface {
	// Listen returns the listener of one protocol. Every call returns the same one.
	Listen(Protocol) net.Listener
	// Dial connects to a peer's port and announces the protocol.
	Dial(ctx context.Context, addr string, p Protocol) (net.Conn, error)
}

// headerTimeout bounds how long a new connection may take to send its first byte.
const headerTimeout = 5 * time.Second

// Mux is one listening port. Run it with Serve.
type Mux struct {
	ln    net.Listener
	mu    sync.Mutex
	subs  map[Protocol]*listener
	conns map[net.Conn]struct{} // waiting for their first byte
	done  chan struct{}
	wg    sync.WaitGroup
}

var _ Network = (*Mux)(nil)

// New takes over ln; Close closes it.
func New(ln net.Listener) *Mux {
	return &Mux{ln: ln, subs: map[Protocol]*listener{}, conns: map[net.Conn]struct{}{}, done: make(chan struct{})}
}

// Addr is the port's own address.
func (m *Mux) Addr() net.Addr { return m.ln.Addr() }

// Listen implements Network.
func (m *Mux) Listen(p Protocol) net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.subs[p]; ok {
		return l
	}
	l := &listener{mux: m, conns: make(chan net.Conn), done: make(chan struct{})}
	m.subs[p] = l
	return l
}

// Dial implements Network.
func (m *Mux) Dial(ctx context.Context, addr string, p Protocol) (net.Conn, error) {
	return Dial(ctx, addr, p)
}

// Dialer is a dialer for a process that only dials: a separate worker.
type Dialer struct{}

// Dial connects to a peer's port over TCP and announces the protocol.
func Dial(ctx context.Context, addr string, p Protocol) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write([]byte{byte(p)}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Dial connects over TCP and announces the protocol.
func (Dialer) Dial(ctx context.Context, addr string, p Protocol) (net.Conn, error) {
	return Dial(ctx, addr, p)
}

// Serve accepts until Close; then it returns nil.
func (m *Mux) Serve() error {
	for {
		c, err := m.ln.Accept()
		if err != nil {
			select {
			case <-m.done:
				return nil
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// Out of descriptors, a connection reset before accept: the port must outlive it.
			select {
			case <-m.done:
				return nil
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		m.mu.Lock()
		m.conns[c] = struct{}{}
		m.wg.Add(1)
		m.mu.Unlock()
		go m.route(c)
	}
}

func (m *Mux) route(c net.Conn) {
	defer m.wg.Done()
	var b [1]byte
	_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
	_, err := c.Read(b[:])
	_ = c.SetReadDeadline(time.Time{})
	m.mu.Lock()
	delete(m.conns, c)
	l := m.subs[Protocol(b[0])]
	m.mu.Unlock()
	if err != nil || l == nil {
		c.Close()
		return
	}
	select {
	case l.conns <- c:
	case <-l.done:
		c.Close()
	case <-m.done:
		c.Close()
	}
}

// Close stops accepting, and closes the connections that nobody has taken yet. A second Close does nothing.
func (m *Mux) Close() error {
	m.mu.Lock()
	select {
	case <-m.done:
		m.mu.Unlock()
		return nil
	default:
	}
	close(m.done)
	err := m.ln.Close()
	for c := range m.conns {
		c.Close()
	}
	m.mu.Unlock()
	m.wg.Wait()
	return err
}

type listener struct {
	mux   *Mux
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-l.mux.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.mux.ln.Addr() }
