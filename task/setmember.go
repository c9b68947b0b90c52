package task

import "github.com/taskrt/taskrt/task/roster"

// Member is what is decided about a node. It stands in the head of a snapshot.
type Member = roster.Member

// MembersLevel is the feature level that brought Member.
const MembersLevel = 3

// SetMember decides whether a node may vote, and whether its directory may ever come back (SPEC C2). The leader changes the configuration of raft
// accordingly.
type SetMember struct {
	Node   string `cbor:"1,keyasint"`
	Vote   uint64 `cbor:"2,keyasint"`           // of roster.Vote
	Remove string `cbor:"3,keyasint,omitempty"` // the instance that never comes back; "": none
	Force  bool   `cbor:"4,keyasint,omitempty"` // even if no majority is left alive
}

func (SetMember) level() uint64 { return MembersLevel }

func (c SetMember) apply(m *Machine) Result {
	if field, why := roster.Wrong(c.Node, roster.Vote(c.Vote), c.Remove); field != "" {
		return invalid(field, why)
	}
	switch changed, full := m.roster.Settle(c.Node, roster.Vote(c.Vote), c.Remove, c.Force, m.index); {
	case full:
		return invalid("node", "1,000 nodes are known, and none of them was removed")
	case !changed:
		return Result{}
	}
	return Result{Changed: true}
}
