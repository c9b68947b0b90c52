package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/access"
)

// Refound makes this state the beginning of a new cluster (SPEC C2). The former cluster may have gone on after this state, and may still run. So
// nothing that the former cluster has given to anybody may hold in the new one. The tokens of leases, the numbers of sessions and the revs go on
// far above the former cluster's numbers. All leases are lost. The kept answers to commands are forgotten. Nobody may propose Refound: it is applied
// to a directory that no process runs on.
type Refound struct {
	DropTokens bool `cbor:"1,keyasint,omitempty"` // access tokens are forgotten, too, and the root token holds
}

// Leap is how much Refound adds to the machine's numbers. No cluster uses up so many numbers.
const Leap = 1 << 40

// maxNumber is the largest integer that every program reads from JSON as it is.
const maxNumber = 1<<53 - 1

func (Refound) level() uint64 { return MembersLevel }

func (c Refound) apply(m *Machine) Result {
	if max(m.rev, m.token, m.sessionID) > maxNumber-Leap {
		return invalid("rev", "the numbers of this state cannot be raised by 2^40 once more")
	}
	for _, s := range m.sessionsByID() {
		m.endSessionAs(s, outcomeLost)
	}
	for n := m.losses.Head(); n != nil; n = m.losses.Head() {
		m.endLease(n.Item, func(r *row) { m.release(r, outcomeLost, m.now) })
	}
	m.roster.Clear()
	m.blobs.Holds.Restore(nil)
	if c.DropTokens {
		dropAllAccess(m)
	}
	m.forgets = true
	m.rev, m.token, m.sessionID = m.rev+Leap, m.token+Leap, m.sessionID+Leap
	return Result{Changed: true}
}

// dropAllAccess forgets all access tokens. Who has the cluster secret has the root token.
func dropAllAccess(m *Machine) {
	for _, x := range slices.Collect(m.access.After("")) {
		dropAccess(m, x, access.Refusal{})
	}
	if m.access.RootOff {
		SetRoot{}.apply(m)
	}
}

// forgetAnswers forgets, after the entry, who asked what: also what this entry itself has answered.
func forgetAnswers(m *Machine) {
	if m.forgets {
		m.answers, m.forgets = newAnswers(m), false
	}
}
