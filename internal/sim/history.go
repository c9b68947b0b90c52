package sim

import (
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// history checks the invariants that span entries, on the machine alone: the model could share an error with it.
type history struct {
	tasks    map[task.Key]*task.Task
	sessions map[uint64]bool
	revs     map[uint64]*task.Task
	tokens   map[uint64]lease
	numbers  map[[2]uint64]uint64 // session and seq of an assignment → its token
	topRev   uint64
	topToken uint64

	topSession uint64
}

// lease is who a token was given to.
type lease struct {
	key     task.Key
	created uint64
	attempt int64
}

func newHistory() *history {
	return &history{map[task.Key]*task.Task{}, map[uint64]bool{}, map[uint64]*task.Task{}, map[uint64]lease{}, map[[2]uint64]uint64{}, 0, 0, 0}
}

func (h *history) observe(m *task.Machine, ps []task.Proposal, rs []task.Result) error {
	now := map[task.Key]*task.Task{}
	topRev, topToken := h.topRev, h.topToken
	for _, t := range allTasks(m) {
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		now[k] = t
		if old, ok := h.revs[t.Rev]; ok {
			if d := diff("", t, old); d != "" {
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
	if err := h.finalsStay(now, ps, rs); err != nil {
		return err
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
	return nil
}

// observeLease checks that a token names one lease for ever and that later leases have larger tokens.
func (h *history) observeLease(m *task.Machine, t *task.Task) error {
	l := t.Lease
	if l == nil {
		return nil
	}
	if m.Session(l.Session) == nil {
		return errors.New("leased to a session that has ended")
	}
	me := lease{task.Key{Namespace: t.Namespace, ID: t.ID}, t.CreatedRev, t.Attempt}
	if old, ok := h.tokens[l.Token]; ok && old != me {
		return fmt.Errorf("token %d was given for %+v before", l.Token, old)
	} else if !ok && l.Token <= h.topToken {
		return fmt.Errorf("new token %d, but %d was given before", l.Token, h.topToken)
	}
	h.tokens[l.Token] = me
	n := [2]uint64{l.Session, l.Seq}
	if old, ok := h.numbers[n]; ok && old != l.Token {
		return fmt.Errorf("assignment %d of session %d was another lease before", l.Seq, l.Session)
	}
	h.numbers[n] = l.Token
	return nil
}

// finalsStay checks that a final record changes only by rerun, resubmit, remove or retention.
func (h *history) finalsStay(now map[task.Key]*task.Task, ps []task.Proposal, rs []task.Result) error {
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
		case task.Tick:
			tick = true
		}
	}
	for k, old := range h.tasks {
		if !old.Final() || may[k] {
			continue
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
