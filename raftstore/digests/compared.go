package digests

import "sync/atomic"

// Compared counts what comparisons have found since the process started. It is safe for concurrent use.
type Compared struct {
	equal     atomic.Uint64
	different atomic.Uint64
}

// Findings are what was counted.
type Findings struct {
	Equal     uint64 // index of the log at which this node, as the leader, last found the states of all members equal that it could ask; 0: it never did
	Different uint64 // comparisons in which states differed, by the leader's own or of which it asked this node
}

// FoundEqual notes that no member that could be asked has another state at an index.
func (c *Compared) FoundEqual(index uint64) { c.equal.Store(index) }

// FoundDifferent notes that a member has another state.
func (c *Compared) FoundDifferent() { c.different.Add(1) }

// Findings returns what was counted.
func (c *Compared) Findings() Findings {
	return Findings{Equal: c.equal.Load(), Different: c.different.Load()}
}
