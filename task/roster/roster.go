// Package roster keeps what is decided about the nodes of a cluster (SPEC L10, C2): which nodes' workers get no new tasks, which
// nodes may vote, and which directories may never come back.
package roster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task/hash"
)

// The bounds of what is kept. No cluster comes near them.
const (
	MaxNodes   = 1_000 // of drained nodes, and of members
	MaxRemoved = 16    // instances of one node
	maxName    = 256   // bytes of a node's ID, and of an instance
)

// Vote says whether a node may vote.
type Vote uint64

// The votes. A newcomer follows until an operator decides.
const (
	Newcomer Vote = iota
	Voter         // it votes as soon as it has caught up
	Held          // it does not vote: it was demoted, or removed
)

// String returns the word for a vote.
func (v Vote) String() string {
	switch v {
	case Newcomer:
		return "newcomer"
	case Voter:
		return "voter"
	}
	return "held"
}

// Member is what is settled about a node.
type Member struct {
	Node    string   `cbor:"1,keyasint"`
	Vote    Vote     `cbor:"2,keyasint"`
	Removed []string `cbor:"3,keyasint,omitempty"` // instances that never come back, the last one at the end
	Force   bool     `cbor:"4,keyasint,omitempty"` // the last removal, or demotion, asks for no majority
	Index   uint64   `cbor:"5,keyasint"`           // log index of its last change
}

// Gone reports whether an instance of the node was removed.
func (x Member) Gone(instance string) bool { return slices.Contains(x.Removed, instance) }

// Table is the roster. Values that it has handed out never change.
type Table struct {
	drained map[string]bool
	members map[string]Member
	kinds   Kinds
	sum     uint64
	last    uint64 // index of the last change of a member
}

// Kinds begin the hashes of what a Table keeps.
type Kinds struct{ Drained, Member uint64 }

// NewTable returns an empty table.
func NewTable(k Kinds) Table {
	return Table{drained: map[string]bool{}, members: map[string]Member{}, kinds: k}
}

// Sum returns the sum of the hashes of all records.
func (t *Table) Sum() uint64 { return t.sum }

// Recount returns what Sum should be.
func (t *Table) Recount() (sum uint64) {
	for node := range t.drained { // order-free: the sum commutes
		sum += t.hashDrained(node)
	}
	for _, x := range t.members { // order-free: the sum commutes
		sum += t.hashMember(x)
	}
	return sum
}

func (t *Table) hashDrained(node string) uint64 {
	h := hash.New(t.kinds.Drained)
	h.Str(node)
	return h.Sum()
}

func (t *Table) hashMember(x Member) uint64 {
	h := hash.New(t.kinds.Member)
	h.Str(x.Node)
	h.Word(uint64(x.Vote))
	h.Word(uint64(len(x.Removed)))
	for _, instance := range x.Removed {
		h.Str(instance)
	}
	h.Bool(x.Force)
	h.Word(x.Index)
	return h.Sum()
}

// Drained reports whether the workers of a node get no new tasks (SPEC L10).
func (t *Table) Drained(node string) bool { return t.drained[node] }

// DrainedNodes returns the nodes for which Drained is true, by ID.
func (t *Table) DrainedNodes() []string { return slices.Sorted(maps.Keys(t.drained)) }

// Drain drains a node, or ends this. full says that too many nodes are drained. An ID stays drained until somebody ends this, even if there is no
// node with this ID.
func (t *Table) Drain(node string, drain bool) (changed, full bool) {
	switch {
	case drain == t.drained[node]:
		return false, false
	case !drain:
		t.sum -= t.hashDrained(node)
		delete(t.drained, node)
	case len(t.drained) >= MaxNodes:
		return false, true
	default:
		t.sum += t.hashDrained(node)
		t.drained[node] = true
	}
	return true, false
}

// Clear forgets everything: another cluster begins.
func (t *Table) Clear() { *t = NewTable(t.kinds) }

// View reads a Table.
type View struct{ table *Table }

// View returns a View of the table.
func (t *Table) View() View { return View{t} }

// Member returns what is settled about a node. If nothing is settled, the node is a newcomer.
func (v View) Member(node string) Member {
	x := v.table.members[node]
	x.Node = node
	return x
}

// Last returns the log index of the last change of a member; 0: there was none.
func (v View) Last() uint64 { return v.table.last }

// Members returns what is settled, by ID.
func (v View) Members() []Member {
	return slices.SortedFunc(maps.Values(v.table.members), func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
}

// Restore takes over what a snapshot holds.
func (t *Table) Restore(drained []string, members []Member) {
	for _, node := range drained {
		t.Drain(node, true)
	}
	for _, x := range members {
		t.take(x)
	}
}

func (t *Table) take(x Member) {
	t.forget(x.Node)
	t.sum += t.hashMember(x)
	t.members[x.Node] = x
	t.last = max(t.last, x.Index)
}

func (t *Table) forget(node string) {
	if former, ok := t.members[node]; ok {
		t.sum -= t.hashMember(former)
		delete(t.members, node)
	}
}

// Wrong says what is wrong with a change of a member; "" if nothing is.
func Wrong(node string, v Vote, remove string) (field, why string) {
	switch {
	case node == "" || len(node) > maxName:
		return "node", "a node's ID has 1 to 256 bytes"
	case v != Voter && v != Held:
		return "vote", "it is 1, may vote, or 2, may not"
	case len(remove) > maxName || remove != "" && v == Voter:
		return "remove", "it is an instance of at most 256 bytes, and who is removed does not vote"
	}
	return "", ""
}

// Settle changes what is settled about a node, by the entry with the index: whether it may vote, and, if remove is not "", that this instance of it
// never comes back. full says that there is no room for another node.
func (t *Table) Settle(node string, v Vote, remove string, force bool, index uint64) (changed, full bool) {
	x, known := t.members[node]
	if x.Vote == v && (remove == "" || x.Gone(remove)) && (x.Force || !force) {
		return false, false
	}
	if !known && len(t.members) >= MaxNodes && !t.evict() {
		return false, true
	}
	x.Node, x.Vote, x.Force, x.Index = node, v, force, index
	if remove != "" && !x.Gone(remove) {
		x.Removed = append(slices.Clone(x.Removed), remove)
		x.Removed = x.Removed[max(0, len(x.Removed)-MaxRemoved):]
	}
	t.take(x)
	return true, false
}

// evict forgets the node that was removed longest ago.
func (t *Table) evict() bool {
	oldest := Member{}
	for _, x := range t.View().Members() {
		if x.Vote == Held && len(x.Removed) > 0 && (oldest.Node == "" || x.Index < oldest.Index) {
			oldest = x
		}
	}
	t.forget(oldest.Node)
	return oldest.Node != ""
}
