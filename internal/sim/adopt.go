package sim

import (
	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
)

// adopter fills in the numbers that the SPEC leaves to the machine, if they keep the SPEC's rules: revs and tokens rise and
// are never used again; a retry comes within the bounds of its policy.
type adopter struct {
	model            *naive.Model
	refused          string // why a number was wrong
	revs             map[uint64]bool
	topRev, topToken uint64 // topRev: of former entries
}

func newAdopter(m *naive.Model) *adopter {
	a := &adopter{model: m, revs: map[uint64]bool{}}
	m.Adopt, m.AdoptSpace, m.AdoptOperation = a.adopt, a.adoptSpace, a.adoptOperation
	m.Fresh = func(id uint64) uint64 { return a.rev(id, 0) }
	return a
}

// next is called before each entry.
func (a *adopter) next() {
	for r := range a.revs {
		a.topRev = max(a.topRev, r)
	}
	clear(a.revs)
}

// adopt completes the model's record from the machine's.
func (a *adopter) adopt(k task.Key, real *task.Task) {
	if a.model.Tasks[k] == nil || real == nil {
		return
	}
	n := *a.model.Tasks[k]
	if n.CreatedRev == 0 {
		n.CreatedRev = a.rev(real.CreatedRev, 0)
	}
	if n.Rev == 0 {
		n.Rev = a.rev(real.Rev, n.CreatedRev)
	}
	if n.Lease != nil && n.Lease.Token == 0 && real.Lease != nil {
		if real.Lease.Token <= a.topToken {
			a.refused = "the token does not rise"
		}
		l := *n.Lease
		l.Token, a.topToken, n.Lease = real.Lease.Token, real.Lease.Token, &l
	}
	if n.Ended != nil && n.Ended.Finish == naive.UnknownHash && real.Ended != nil && real.Ended.Finish != 0 {
		n.Ended = &task.Ended{Token: n.Ended.Token, Finish: real.Ended.Finish, Session: n.Ended.Session}
	}
	if bounds, ok := a.model.Jitter[k]; ok {
		delete(a.model.Jitter, k)
		if real.NotBefore < bounds[0] || real.NotBefore > bounds[1] {
			a.refused = "the retry is not within the bounds of its policy"
		}
		n.NotBefore = real.NotBefore
	}
	a.model.Tasks[k] = &n
}

// rev returns rev if no record ever had it. created is the first rev of this record.
func (a *adopter) rev(rev, created uint64) uint64 {
	if rev <= a.topRev || a.revs[rev] && rev != created {
		a.refused = "the rev is not new"
	}
	a.revs[rev] = true
	return rev
}

// adoptSpace completes the model's namespace from the machine's.
func (a *adopter) adoptSpace(name string, real *task.Namespace) {
	if n := a.model.Spaces[name]; n != nil && real != nil && n.Rev == 0 && real.Rev != 0 {
		next := *n
		next.Rev = a.rev(real.Rev, 0)
		a.model.Spaces[name] = &next
	}
}

// adoptOperation completes the model's operation from the machine's. Nobody reads an operation that is being removed.
func (a *adopter) adoptOperation(k task.Key, real *task.Operation) {
	o := a.model.Operations[k]
	if o == nil || real == nil || real.Key() != k {
		return
	}
	n := *o
	if n.CreatedRev == 0 {
		n.CreatedRev = a.rev(real.CreatedRev, 0)
	}
	if n.Rev == 0 && n.Removing {
		n.Rev = real.Rev
	} else if n.Rev == 0 {
		n.Rev = a.rev(real.Rev, n.CreatedRev)
	}
	if n.RetryRev == naive.UnknownRev {
		if real.RetryRev < a.topRev || real.RetryRev >= real.Rev {
			a.refused = "the retry is of failures of another time"
		}
		n.RetryRev = real.RetryRev
	}
	a.model.Operations[k] = &n
}
