package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// history checks the invariants that span entries. It looks at the machine alone, because the model could share an error with it.
type history struct {
	tasks    map[task.Key]*task.Task
	sessions map[uint64]bool
	spaces   map[string]uint64 // revs

	operations map[task.Key]uint64 // revs
	ready      map[string]bool     // blobs
	revs       map[uint64]*task.Task
	tokens     map[uint64]lease
	numbers    map[[2]uint64]uint64 // session and seq of an assignment → its token
	topRev     uint64
	topToken   uint64

	topSession uint64
	topRecord  uint64 // of the TaskStore
	records    map[uint64]*task.StoreRecord
	busy       map[slot]int64      // running tasks per behavior (key "") and per concurrency key
	policies   map[task.Key]uint64 // revs of behaviors: their limits may have changed with them
}

// lease says to whom a token was given.
type lease struct {
	key     task.Key
	created uint64
	attempt int64
}

func newHistory() *history {
	return &history{
		tasks: map[task.Key]*task.Task{}, sessions: map[uint64]bool{}, spaces: map[string]uint64{}, operations: map[task.Key]uint64{}, ready: map[string]bool{}, revs: map[uint64]*task.Task{}, tokens: map[uint64]lease{},
		numbers: map[[2]uint64]uint64{}, busy: map[slot]int64{}, policies: map[task.Key]uint64{}, records: map[uint64]*task.StoreRecord{},
	}
}

func (h *history) observe(m *task.Machine, ps []task.Proposal, rs []task.Result) error {
	now := map[task.Key]*task.Task{}
	topRev, topToken := h.topRev, h.topToken
	for _, t := range allTasks(m) {
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		now[k] = t
		if old, ok := h.revs[t.Rev]; ok {
			if d := diff("", withoutRenewal(t), withoutRenewal(old)); d != "" {
				return fmt.Errorf("%v: rev %d named another state before: %s", k, t.Rev, d)
			}
		} else if t.Rev <= h.topRev {
			return fmt.Errorf("%v: new rev %d, but %d was given before", k, t.Rev, h.topRev)
		}
		h.revs[t.Rev] = t
		topRev = max(topRev, t.Rev)
		if old := h.tasks[k]; old != nil && old.CreatedRev == t.CreatedRev && t.Attempt < old.Attempt {
			return fmt.Errorf("%v: attempt %d after %d", k, t.Attempt, old.Attempt)
		}
		if err := h.observeLease(m, t); err != nil {
			return fmt.Errorf("%v: %w", k, err)
		}
		if t.Lease != nil {
			topToken = max(topToken, t.Lease.Token)
		}
	}
	for _, check := range []func() error{
		func() error { return h.finalsStay(m, now, ps, rs) },
		func() error { return h.limitsHold(m, now) },
		func() error { return h.keyInTurn(m, ps, rs) },
		func() error { return h.recordsRise(m) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	h.tasks, h.topRev, h.topToken = now, topRev, topToken
	live := map[uint64]bool{}
	for _, s := range m.Sessions() {
		if live[s.ID] = true; !h.sessions[s.ID] && s.ID <= h.topSession {
			return fmt.Errorf("new session %d, but %d was given before", s.ID, h.topSession)
		}
	}
	for id := range live {
		h.topSession = max(h.topSession, id)
	}
	h.sessions = live
	clear(h.ready)
	for b := range m.Blobs("") {
		h.ready[b.Digest] = b.Ready
	}
	clear(h.operations)
	for _, o := range allOperations(m) {
		h.operations[o.Key()] = o.Rev
	}
	clear(h.spaces)
	for _, n := range m.Namespaces() {
		h.spaces[n.Name] = n.Rev
	}
	return nil
}

// observeLease checks that a token names one lease for ever and that later leases have larger tokens.
func (h *history) observeLease(m *task.Machine, t *task.Task) error {
	l := t.Lease
	if l == nil {
		return nil
	}
	if l.Session != 0 && m.Session(l.Session) == nil {
		return errors.New("leased to a session that has ended")
	}
	me := lease{task.Key{Namespace: t.Namespace, ID: t.ID}, t.CreatedRev, t.Attempt}
	if old, ok := h.tokens[l.Token]; ok && old != me {
		return fmt.Errorf("token %d was given for %+v before", l.Token, old)
	} else if !ok && l.Token <= h.topToken {
		return fmt.Errorf("new token %d, but %d was given before", l.Token, h.topToken)
	}
	if h.tokens[l.Token] = me; l.Session == 0 {
		return nil
	}
	n := [2]uint64{l.Session, l.Seq}
	if old, ok := h.numbers[n]; ok && old != l.Token {
		return fmt.Errorf("assignment %d of session %d was another lease before", l.Seq, l.Session)
	}
	h.numbers[n] = l.Token
	return nil
}

// withoutRenewal returns t without the fields that a heartbeat alone changes.
func withoutRenewal(t *task.Task) *task.Task {
	if t.Lease == nil {
		return t
	}
	n, l := *t, *t.Lease
	l.TTL, l.Expires = 0, 0
	n.Lease = &l
	return &n
}

// finalsStay checks that a final record of no operation changes only by rerun, resubmit, retry, a transaction, remove, a bulk job, or the limit of a namespace.
func (h *history) finalsStay(m *task.Machine, now map[task.Key]*task.Task, ps []task.Proposal, rs []task.Result) error {
	may := map[task.Key]bool{}
	tick := false
	for i, p := range ps {
		if rs[i].Code != task.OK {
			continue
		}
		switch c := p.Command.(type) {
		case task.Submit:
			if c.IfExists == task.Rerun || c.IfExists == task.Resubmit {
				may[task.Key{Namespace: c.Namespace, ID: c.ID}] = true
			}
		case task.Remove:
			may[c.Key] = true
		case task.RetryTask:
			may[c.Key] = true
		case task.Txn:
			for _, u := range c.Updates {
				may[task.Key{Namespace: c.Namespace, ID: u.ID}] = true
			}
			for _, d := range c.Deletes {
				may[task.Key{Namespace: c.Namespace, ID: d.ID}] = true
			}
		case task.StartMaintenance:
			may[task.MaintenanceKey()] = true
		case task.DropTasks:
			for _, x := range c.Tasks {
				may[x.Key] = true
			}
		case task.StepJob:
			for k, old := range h.tasks {
				may[k] = may[k] || slices.Contains(c.Tasks, old.CreatedRev)
			}
		case task.Tick, task.TrimBehavior, task.PurgeNamespace:
			tick = true
		}
	}
	for k, old := range h.tasks {
		of := task.Key{Namespace: k.Namespace, ID: old.Parent}
		if !old.Final() || may[k] {
			continue
		}
		if o := m.Operation(of); old.Role != task.RoleNone && (o == nil || o.Rev != h.operations[of] || o.RetryRev != 0) {
			continue // what happens to an operation's tasks shows in its record
		}
		if t := now[k]; t == nil || t.CreatedRev != old.CreatedRev {
			if !tick {
				return fmt.Errorf("%v: final, and removed by nothing", k)
			}
		} else if t.Rev != old.Rev {
			return fmt.Errorf("%v: final, and changed by nothing: %s", k, diff("", t, old))
		}
	}
	return nil
}
