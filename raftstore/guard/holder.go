package guard

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// holders keeps this node's raft apart from the others until this start of the node is confirmed. It also keeps out other nodes' starts that are not
// confirmed (SPEC C7). It remembers what others have promised to this node, or have shown that they promised. A directory that lacks this is an older one.
type holders struct {
	self, start string
	holds       func(identity, start string) bool // this start was the last to be confirmed, or none was confirmed
	knows       func(identity string) bool        // a node's build reads what follows the name in the first bytes of a connection

	open chan struct{} // closed when this node may take part
	once sync.Once

	mu       sync.Mutex
	promised map[string]promise
}

// promise is what a node has in its directory, by its own word: it has seen the term, and in that term it has all entries up to the index.
type promise struct{ term, index uint64 }

// admitPatience is how long a connection waits for this start to be confirmed.
const admitPatience = time.Second

var errNotConfirmed = errors.New("raftstore: no majority has confirmed this start yet")

func newHolders(c *Config) *holders {
	h := &holders{self: c.Identity, start: c.Start, holds: c.Holds, knows: c.KnowsStarts, open: make(chan struct{}), promised: map[string]promise{}}
	if h.holds == nil { // nobody looks after starts
		h.holds, h.knows = func(string, string) bool { return true }, func(string) bool { return false }
		h.admit()
	}
	return h
}

func (h *holders) admit() { h.once.Do(func() { close(h.open) }) }

// wait returns once this node may take part, or an error.
func (h *holders) wait(done <-chan struct{}) error {
	select {
	case <-h.open:
		return nil
	default:
	}
	t := time.NewTimer(admitPatience)
	defer t.Stop()
	select {
	case <-h.open:
		return nil
	case <-t.C:
	case <-done:
	}
	return errNotConfirmed
}

// note remembers what an identity has promised.
func (h *holders) note(identity string, term, index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p := h.promised[identity]; {
	case term > p.term:
		h.promised[identity] = promise{term, index}
	case term == p.term && index > p.index:
		h.promised[identity] = promise{term, index}
	}
}

// shorter says what a log lacks that its node has promised; "": nothing. The log ends at the index last, in a directory that has seen the term. In a
// later term entries may have been replaced.
func (h *holders) shorter(identity string, term, last uint64) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p := h.promised[identity]; {
	case term < p.term:
		return fmt.Sprintf("it has seen term %d here, and its directory knows term %d", p.term, term)
	case term == p.term && last < p.index:
		return fmt.Sprintf("it has acknowledged entry %d here, and its log ends at %d", p.index, last)
	}
	return ""
}

// heard notes what a request of another node shows that the node has.
func (h *holders) heard(command any) {
	switch q := command.(type) {
	case *raft.AppendEntriesRequest: // a leader tells of no commit beyond what is on its own disk
		h.note(string(q.Addr), q.Term, q.LeaderCommitIndex)
	case *raft.RequestVoteRequest: // it has voted for itself
		h.note(string(q.Addr), q.Term, 0)
	}
}

// answered notes what the answer to entries promises.
func (h *holders) answered(from raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
	if resp.Success {
		h.note(string(from), req.Term, req.PrevLogEntry+uint64(len(req.Entries)))
	}
}

// preamble is what a connection to a node begins with: whom it is for, and, if the node's build reads it, who calls.
func (h *holders) preamble(to string) []byte {
	text := to
	if h.knows(to) {
		text += "\x00" + h.self + "\x00" + h.start
	}
	return append([]byte{byte(len(text))}, text...)
}

// caller reads a preamble. from is "" if the caller's build does not say who it is.
func (h *holders) caller(preamble []byte) (from, start string, err error) {
	parts := bytes.Split(preamble, []byte{0})
	if string(parts[0]) != h.self {
		return "", "", fmt.Errorf("raftstore: connection for %q reached %q", parts[0], h.self)
	}
	if len(parts) != 3 {
		return "", "", nil
	}
	if from, start = string(parts[1]), string(parts[2]); !h.holds(from, start) {
		return "", "", fmt.Errorf("raftstore: another start of %q was confirmed", from)
	}
	return from, start, nil
}

// Admit lets raft take part.
func (r *Raft) Admit() { r.trans.layer.holders.admit() }

// Admitted reports whether raft may take part.
func (r *Raft) Admitted() bool {
	select {
	case <-r.trans.layer.holders.open:
		return true
	default:
		return false
	}
}

// Shorter says what a log that ends so lacks of what its node has promised to this node; "": nothing.
func (r *Raft) Shorter(identity string, term, last uint64) string {
	return r.trans.layer.holders.shorter(identity, term, last)
}

// Confirmed ends the connections with other starts of an identity, which runs where the members say now.
func (r *Raft) Confirmed(identity, start string) {
	l := r.trans.layer
	addr, _ := l.where(identity)
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, with := range l.conns { // order-free: all of them
		if with.identity == identity && (with.start != "" && with.start != start || with.addr != "" && with.addr != addr) {
			c.Close()
		}
	}
}

// with says who is at the other end of a connection: the start that has called, if it has told, or the node that was at an address when this node dialled.
type with struct{ identity, start, addr string }
