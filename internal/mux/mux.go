// Package mux serves several protocols on one TCP port: the first byte of a connection names the protocol (rqlite and Nomad do
// the same). TLS, if there is any, comes before this byte, so all protocols share it (SPEC A11).
package mux

import (
	"container/list"
	"context"
	"errors"
	"fmt"
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

// headerTimeout bounds how long a new connection may take for its handshake and its first byte.
const headerTimeout = 5 * time.Second

// maxWaiting bounds the connections that have not said their first byte yet. If one more comes, the one that has waited longest is closed: a peer
// that speaks the protocol needs only a moment, and a peer that does not must not keep it out.
const maxWaiting = 1024

// Mux is one listening port. Run it with Serve.
type Mux struct {
	ln      net.Listener
	guard   Guard
	mu      sync.Mutex
	subs    map[Protocol]*listener
	waiting list.List // of net.Conn, the first one has waited longest
	done    chan struct{}
	wg      sync.WaitGroup
	refused Refusals
}

var _ Network = (*Mux)(nil)

// New takes over ln; Close closes it. The guard sees every connection first; nil: connections are as they come.
func New(ln net.Listener, guard Guard) *Mux {
	return &Mux{ln: ln, guard: guard, subs: map[Protocol]*listener{}, done: make(chan struct{})}
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
	return Dialer{m.guard}.Dial(ctx, addr, p)
}

// Dialer dials without a listening port. Guard may be nil.
type Dialer struct{ Guard Guard }

// Dial connects to a peer's port and announces the protocol.
func (d Dialer) Dial(ctx context.Context, addr string, p Protocol) (net.Conn, error) {
	var tcp net.Dialer
	c, err := tcp.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	endInSilence(c)
	if d.Guard != nil {
		safe, err := d.Guard.Client(ctx, c)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("%s: %w", addr, err)
		}
		c = safe
	}
	if _, err := c.Write([]byte{byte(p)}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
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
		endInSilence(c)
		m.mu.Lock()
		place := m.waiting.PushBack(c)
		if m.waiting.Len() > maxWaiting {
			longest := m.waiting.Front()
			_ = longest.Value.(net.Conn).Close() // its route removes it
			m.waiting.MoveToBack(longest)
		}
		m.wg.Add(1)
		m.mu.Unlock()
		go m.route(c, place)
	}
}

// route hands a connection to the listener of its protocol, once it has said which and may speak it.
func (m *Mux) route(c net.Conn, place *list.Element) {
	defer m.wg.Done()
	l, c, err := m.admit(c)
	m.mu.Lock()
	m.waiting.Remove(place)
	m.mu.Unlock()
	if err != nil {
		m.refused.Tell(c, err)
	}
	if l == nil {
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

// admit does the handshake and reads the first byte. No listener: the connection is to be closed.
func (m *Mux) admit(c net.Conn) (*listener, net.Conn, error) {
	_ = c.SetDeadline(time.Now().Add(headerTimeout))
	if m.guard != nil {
		safe, err := m.guard.Server(context.Background(), c) // the deadline bounds it
		if err != nil {
			return nil, c, err
		}
		c = safe
	}
	var b [1]byte
	if _, err := c.Read(b[:]); err != nil {
		return nil, c, nil // it has hung up, or says nothing
	}
	_ = c.SetDeadline(time.Time{})
	p := Protocol(b[0])
	if who, proven := PrincipalOf(c); proven && !who.Role.may(p) {
		return nil, c, fmt.Errorf("a %s may not speak protocol %d", who.Role, p)
	} else if proven && who.Role != Node {
		c = &lesser{c, who, &m.refused}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.subs[p], c, nil
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
	for e := m.waiting.Front(); e != nil; e = e.Next() {
		_ = e.Value.(net.Conn).Close()
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
