package mux

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Role is what a peer is to the cluster.
type Role uint8

// A Node may do everything, a Worker takes assignments and exchanges the files that they need. API is a node's port for clients: it speaks
// HTTP, and no protocol of this port.
const (
	Node Role = iota + 1
	Worker
	API
)

func (r Role) String() string {
	switch r {
	case Node:
		return "node"
	case Worker:
		return "worker"
	case API:
		return "api"
	}
	return "stranger"
}

// workerProtocols are what a worker may speak.
var workerProtocols = []Protocol{Stream, Blob}

func (r Role) may(p Protocol) bool {
	return r == Node || r == Worker && slices.Contains(workerProtocols, p)
}

// Principal is who has proven to be at the other end of a connection.
type Principal struct {
	Role Role
	ID   string // of the node or worker
}

// Guard proves both ends of a connection before anything is said (SPEC A2, A11). What it returns implements Proven.
type Guard interface {
	// Server is for a connection that was accepted, Client for a connection that was dialled. After an error the caller closes c.
	Server(ctx context.Context, c net.Conn) (net.Conn, error)
	Client(ctx context.Context, c net.Conn) (net.Conn, error)
}

// Proven is a connection of which the other end is known.
type Proven interface{ Principal() Principal }

// PrincipalOf returns who is at the other end of a connection, if it came through a Guard.
func PrincipalOf(c net.Conn) (p Principal, proven bool) {
	if c, ok := c.(Proven); ok {
		return c.Principal(), true
	}
	return p, false
}

// MayBe reports whether the other end of a connection may call itself a node, or a worker, by its ID or by a name that begins with the ID and
// a slash. Without a Guard everybody may.
func MayBe(c net.Conn, role Role, name string) bool {
	p, proven := PrincipalOf(c)
	id, _, _ := strings.Cut(name, "/")
	return !proven || p == Principal{role, id}
}

// lesser is a connection of a peer that is no node. The handler of its protocol may refuse what only nodes may ask.
type lesser struct {
	net.Conn
	who     Principal
	refused *Refusals
}

// Principal implements Proven.
func (c *lesser) Principal() Principal { return c.who }

// Refuse counts and logs a request that its sender may not make, as the port does with whole connections. The caller closes c.
func Refuse(c net.Conn, why error) {
	if c, ok := c.(*lesser); ok {
		c.refused.Tell(c, why)
	}
}

// Refusals count connections that were refused, and log them: once per address, or per name of a peer, and minute.
type Refusals struct {
	count atomic.Int64

	mu   sync.Mutex
	log  *slog.Logger
	says string
	told map[string]time.Time
}

// maxTold bounds the addresses and names that are remembered. When there are more, all are forgotten.
const maxTold = 1024

// Tell counts a connection, and logs it.
func (r *Refusals) Tell(c net.Conn, why error) {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		r.count.Add(1)
		return
	}
	r.TellOf(host, why)
}

// TellOf counts a connection of a peer, and logs it.
func (r *Refusals) TellOf(from string, why error) {
	r.count.Add(1)
	now := time.Now()
	r.mu.Lock()
	log, says := r.log, r.says
	if log == nil {
		r.mu.Unlock()
		return
	}
	told := now.Sub(r.told[from]) < time.Minute
	if !told {
		if r.told == nil || len(r.told) >= maxTold {
			r.told = map[string]time.Time{}
		}
		r.told[from] = now
	}
	r.mu.Unlock()
	if !told {
		log.Warn(says, "from", from, "why", why)
	}
}

// LogTo says where refusals are logged, and as what; nil: nowhere.
func (r *Refusals) LogTo(log *slog.Logger, says string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.says = log, says
}

// Count returns how many connections there were.
func (r *Refusals) Count() int64 { return r.count.Load() }

// Refused returns how many connections the Guard has refused. Connections of peers that spoke a protocol, or made a request, for which they have no
// right count, too.
func (m *Mux) Refused() int64 { return m.refused.Count() }

// LogTo says where refusals are logged.
func (m *Mux) LogTo(log *slog.Logger) {
	m.refused.LogTo(log, "refused a connection to the node port; further ones of this minute are counted only")
}
