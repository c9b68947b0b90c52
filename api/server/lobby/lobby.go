// Package lobby bounds the connections of a port for clients, in number and in what they cost, before anybody knows who they are (SPEC A9).
package lobby

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"

	"github.com/taskrt/taskrt/internal/mux"
)

// These bound what strangers can hold. A connection *waits* until the header of its first request has come, its handshake included; it is
// *idle* between two requests.
const (
	maxWaiting = 1024
	maxIdle    = 8192
	maxOpen    = 32768
	few        = 16 // an address with so many has no more than another
)

// Config says what the port is like.
type Config struct {
	TLS   *tls.Config  // nil: none
	Ports int          // ports of this process that share its limit of open files; 0 is 1
	Log   *slog.Logger // of what is closed; nil: nobody is told
}

// Reason says why a connection was closed before its time.
type Reason int

// These are the reasons, in the order of Dropped.
const (
	Waiting Reason = iota // too many waited
	Idle                  // too many were idle
	Open                  // too many were open, and none of them could be spared
	reasons
)

func (r Reason) String() string { return [...]string{"waiting", "idle", "open"}[r] }

var errOf = [...]error{
	errors.New("too many connections wait for their handshake or their first request"),
	errors.New("too many connections are idle"),
	errors.New("too many connections are open"),
}

// Lobby is a listener whose connections are bounded. Follow must be told what becomes of them.
type Lobby struct {
	net.Listener
	config Config
	pace   chan struct{} // holds one for each connection that waits and computes

	waiting, idle, open int // bounds

	mu      sync.Mutex
	count   int // of open connections
	queues  [2]*queue
	dropped [reasons]mux.Refusals
}

// New takes over ln.
func New(ln net.Listener, config Config) *Lobby {
	l := &Lobby{
		Listener: ln, config: config, pace: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		waiting: maxWaiting, idle: maxIdle, open: openBound(openFiles(), max(config.Ports, 1)), queues: [2]*queue{newQueue(few), newQueue(few)},
	}
	for r := range reasons {
		l.dropped[r].LogTo(config.Log, "closed a connection to the port for clients; further ones of this minute are counted only")
	}
	return l
}

// openBound is how many connections may be open where a process may have so many files and this many ports. Half of the files are for raft,
// logs, blobs and guests. files 0: nobody knows.
func openBound(files uint64, ports int) int {
	if files == 0 || files/2 >= uint64(maxOpen*ports) {
		return maxOpen
	}
	return max(1, int(files)/2/ports)
}

// Accept implements net.Listener. If there are too many connections, it closes one that waits or is idle: the oldest of the address that has the
// most. Where neither waits nor idles one, and too many are open, it closes the new one.
func (l *Lobby) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, lobby: l, from: addressOf(raw.RemoteAddr()), gone: make(chan struct{})}
		if !l.admit(c) {
			l.drop(c, Open)
			continue
		}
		if l.config.TLS != nil {
			return tls.Server(c, l.config.TLS), nil
		}
		return c, nil
	}
}

// admit counts a connection, and lets it wait. It makes room first. false: there is none.
func (l *Lobby) admit(c *conn) bool {
	l.mu.Lock()
	full := l.count >= l.open
	var spared *conn
	var why Reason
	if full {
		for _, why = range []Reason{Idle, Waiting} {
			if spared = l.queues[why].worst(); spared != nil {
				break
			}
		}
	}
	if full && spared == nil {
		l.mu.Unlock()
		return false
	}
	if spared != nil {
		l.leave(spared)
	}
	l.count++
	c.counted = true
	over := l.enter(c, Waiting, l.waiting)
	l.mu.Unlock()
	if spared != nil {
		l.drop(spared, why)
	}
	if over != nil {
		l.drop(over, Waiting)
	}
	return true
}

// enter puts a connection in a queue of at most so many. If there is one too many, it takes that one out and returns it. Under mu.
func (l *Lobby) enter(c *conn, why Reason, most int) (over *conn) {
	c.in = l.queues[why]
	c.in.add(c)
	if c.in.len() > most {
		over = c.in.worst()
		l.leave(over)
	}
	return over
}

// leave takes a connection out of its queue, if it is in one. Under mu.
func (l *Lobby) leave(c *conn) {
	if c.in != nil {
		c.in.remove(c)
		c.in = nil
	}
}

func (l *Lobby) drop(c *conn, why Reason) {
	_ = c.Close()
	l.dropped[why].Tell(c.Conn, errOf[why])
}

// Dropped returns how many connections were closed for this reason.
func (l *Lobby) Dropped(why Reason) int64 { return l.dropped[why].Count() }

// Follow is the http.Server's ConnState.
func (l *Lobby) Follow(of net.Conn, state http.ConnState) {
	if t, ok := of.(*tls.Conn); ok {
		of = t.NetConn()
	}
	c, ok := of.(*conn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		l.mu.Lock()
		l.leave(c)
		l.mu.Unlock()
		c.arrived.Store(true)
		c.rest()
	case http.StateIdle:
		l.mu.Lock()
		var over *conn
		if c.counted && c.in == nil { // it may be closed by now
			over = l.enter(c, Idle, l.idle)
		}
		l.mu.Unlock()
		if over != nil {
			l.drop(over, Idle)
		}
	default: // Accept and Close know
	}
}

// closed forgets a connection.
func (l *Lobby) closed(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(c)
	if c.counted {
		c.counted = false
		l.count--
	}
}
