package memnet

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// backlog is how many connections wait for Accept before a dial is refused.
const backlog = 128

// Addr is an address of a Net.
type Addr string

// Network implements net.Addr.
func (Addr) Network() string { return "mem" }

func (a Addr) String() string { return string(a) }

// Node is one address of a Net.
type Node struct {
	net  *Net
	addr string
	subs map[mux.Protocol]*listener // under net.mu
}

var _ mux.Network = (*Node)(nil)

// Addr returns the node's address.
func (nd *Node) Addr() net.Addr { return Addr(nd.addr) }

// Listen implements mux.Network. After the listener was closed, or the node crashed, a restarted node may listen again.
func (nd *Node) Listen(p mux.Protocol) net.Listener {
	nd.net.mu.Lock()
	defer nd.net.mu.Unlock()
	if l := nd.subs[p]; l != nil && !l.closed {
		return l
	}
	l := &listener{node: nd, queue: make(chan *conn, backlog), done: make(chan struct{})}
	if nd.net.closed {
		l.close()
	}
	nd.subs[p] = l
	return l
}

// Dial implements mux.Network. While the link is cut in either direction, Dial waits for ctx or for the link to heal. It
// is refused at once where nobody listens.
func (nd *Node) Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error) {
	n, w := nd.net, way{nd.addr, addr}
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "mem", Source: Addr(nd.addr), Addr: Addr(addr), Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	start := time.Now()
	for {
		if n.closed {
			return fail(net.ErrClosed)
		}
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		var timer <-chan time.Time
		if !n.cutPair(w) {
			rest := time.Until(start.Add(n.delays[w] + n.delays[way{addr, nd.addr}]))
			if rest <= 0 {
				break
			}
			timer = time.After(rest)
		}
		if n.wake == nil {
			n.wake = make(chan struct{})
		}
		wake := n.wake
		n.mu.Unlock()
		select {
		case <-wake:
		case <-timer:
		case <-ctx.Done():
		}
		n.mu.Lock()
	}
	var l *listener
	if peer := n.nodes[addr]; peer != nil {
		l = peer.subs[p]
	}
	if l == nil || l.closed || len(l.queue) == cap(l.queue) {
		return fail(syscall.ECONNREFUSED)
	}
	there, back := newStream(w), newStream(way{addr, nd.addr})
	mine := &conn{net: n, in: back, out: there}
	theirs := &conn{net: n, in: there, out: back}
	n.conns[mine], n.conns[theirs] = struct{}{}, struct{}{}
	mine.peer, theirs.peer = theirs, mine
	l.queue <- theirs // never blocks: there is room, and all senders hold net.mu
	return mine, nil
}

type listener struct {
	node   *Node
	queue  chan *conn
	done   chan struct{}
	once   sync.Once
	closed bool // under net.mu
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.errClosed()
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, l.errClosed()
	}
}

func (l *listener) errClosed() error {
	return &net.OpError{Op: "accept", Net: "mem", Addr: l.Addr(), Err: net.ErrClosed}
}

// Close implements net.Listener. It resets connections that nobody has accepted.
func (l *listener) Close() error {
	l.node.net.mu.Lock()
	defer l.node.net.mu.Unlock()
	l.close()
	return nil
}

// close is Close under net.mu.
func (l *listener) close() {
	l.closed = true
	l.once.Do(func() { close(l.done) })
	for {
		select {
		case c := <-l.queue:
			c.fail(net.ErrClosed, syscall.ECONNRESET)
		default:
			return
		}
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return Addr(l.node.addr) }
