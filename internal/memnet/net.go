// Package memnet is a partitionable network in memory for tests: every node has an address, nodes dial each other
// through mux.Network, and the test cuts, delays, resets and heals links. It has no goroutines and blocks only on
// channels and timers. So it works inside testing/synctest bubbles, where delays pass in virtual time.
//
// Connections behave like TCP under the faults: a cut is a pulled cable. Both ends stay open and hear nothing. What is
// written meanwhile is buffered (a write blocks once the buffer is full) and arrives after Heal, in order, as
// retransmissions would. Use Reset to break connections as well, and Crash for a process that died.
package memnet

import (
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// Net is one network. All methods may be called from any goroutine.
type Net struct {
	mu        sync.Mutex
	nodes     map[string]*Node
	conns     map[*conn]struct{}
	cuts      map[way]bool
	delays    map[way]time.Duration
	isolated  map[string]bool
	lossOneIn int
	rng       *rand.Rand
	wake      chan struct{} // closed at every change of links or listeners: dials wait on it
	closed    bool
}

// way is one direction of a link.
type way struct{ from, to string }

// New returns a network without faults.
func New() *Net {
	return &Net{
		nodes: map[string]*Node{}, conns: map[*conn]struct{}{}, cuts: map[way]bool{},
		delays: map[way]time.Duration{}, isolated: map[string]bool{},
	}
}

// Node returns the node with this address; it makes the node if it is new. A process that only dials calls from a Node,
// too.
func (n *Net) Node(addr string) *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	nd := n.nodes[addr]
	if nd == nil {
		nd = &Node{net: n, addr: addr, subs: map[mux.Protocol]*listener{}}
		n.nodes[addr] = nd
	}
	return nd
}

// Cut stops all packets between a and b, both ways. Connections stay open and silent; dials block.
func (n *Net) Cut(a, b string) {
	n.change(func() { n.cuts[way{a, b}], n.cuts[way{b, a}] = true, true })
}

// CutOneWay stops the packets from one node to the other only. Connections stay open; a dial in either direction
// blocks, because a handshake needs both.
func (n *Net) CutOneWay(from, to string) {
	n.change(func() { n.cuts[way{from, to}] = true })
}

// Heal undoes Cut and CutOneWay between a and b. It does not undo Isolate.
func (n *Net) Heal(a, b string) {
	n.change(func() {
		delete(n.cuts, way{a, b})
		delete(n.cuts, way{b, a})
	})
}

// Isolate cuts a from every other node, also from nodes that come later. A node always reaches itself.
func (n *Net) Isolate(a string) { n.change(func() { n.isolated[a] = true }) }

// Rejoin undoes Isolate.
func (n *Net) Rejoin(a string) { n.change(func() { delete(n.isolated, a) }) }

// HealAll undoes every cut and isolation. Delays and Lossy stay.
func (n *Net) HealAll() {
	n.change(func() {
		clear(n.cuts)
		clear(n.isolated)
	})
}

// Delay makes bytes that are written between a and b, both ways, arrive d later; 0 undoes it. The order is kept.
func (n *Net) Delay(a, b string, d time.Duration) {
	n.change(func() { n.delays[way{a, b}], n.delays[way{b, a}] = d, d })
}

// Lossy resets the connection at one in oneIn writes, chosen by the seed; 0 stops it. In half of the cases the written
// bytes still arrive, so the writer cannot tell. This is what makes resending interesting.
func (n *Net) Lossy(seed uint64, oneIn int) {
	n.change(func() { n.lossOneIn, n.rng = oneIn, rand.New(rand.NewPCG(seed, 1)) })
}

// Reset breaks all connections between a and b at once, whether or not the link is cut: both ends get ECONNRESET.
func (n *Net) Reset(a, b string) {
	n.change(func() {
		for c := range n.conns {
			if (c.out.way == way{a, b}) || (c.out.way == way{b, a}) {
				c.fail(syscall.ECONNRESET, syscall.ECONNRESET)
			}
		}
	})
}

// Crash is the death of the process at addr: its listeners and connections are closed. A peer that packets of addr
// reach gets ECONNRESET. A peer that is cut off hears nothing until the link heals. Node(addr) may listen again.
func (n *Net) Crash(addr string) {
	n.change(func() {
		for c := range n.conns {
			if c.out.from == addr {
				c.fail(net.ErrClosed, syscall.ECONNRESET)
			}
		}
		if nd := n.nodes[addr]; nd != nil {
			for _, l := range nd.subs {
				l.close()
			}
			clear(nd.subs)
		}
	})
}

// Close ends the network: all connections and listeners are closed, dials fail. A second Close does nothing.
func (n *Net) Close() {
	n.change(func() {
		n.closed = true
		for c := range n.conns {
			c.fail(net.ErrClosed, syscall.ECONNRESET)
		}
		for _, nd := range n.nodes {
			for _, l := range nd.subs {
				l.close()
			}
		}
	})
}

// Conns returns how many connection ends are open, for a test of cleanup.
func (n *Net) Conns() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.conns)
}

// change runs f under the lock, then lets every waiter look again.
func (n *Net) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	for c := range n.conns {
		c.in.signal()
		c.out.signal()
	}
	if n.wake != nil {
		close(n.wake)
		n.wake = nil
	}
}

// cut reports whether packets vanish on w.
func (n *Net) cut(w way) bool {
	return w.from != w.to && (n.cuts[w] || n.isolated[w.from] || n.isolated[w.to])
}

// cutPair reports whether a handshake between the two ends of w is impossible.
func (n *Net) cutPair(w way) bool { return n.cut(w) || n.cut(way{w.to, w.from}) }
