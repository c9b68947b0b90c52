package sim

import (
	"fmt"
	"reflect"

	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
)

// limitsHold checks that no assignment exceeds a limit (SPEC L11): a behavior, or a key of it, may have more running
// tasks than it allows only if the limit came later.
func (h *history) limitsHold(m *task.Machine, now map[task.Key]*task.Task) error {
	busy := map[slot]int64{}
	for _, t := range now {
		if t.Lease != nil {
			busy[slot{t.Namespace, t.Behavior, ""}]++
			if t.ConcurrencyKey != "" {
				busy[slotOf(t)]++
			}
		}
	}
	for s, n := range busy {
		b := m.Behavior(s.namespace, s.behavior)
		if b == nil || h.policies[task.Key{Namespace: s.namespace, ID: s.behavior}] != b.Rev {
			continue
		}
		p := m.Version(s.namespace, s.behavior, "").Policy
		limit := p.MaxPerKey
		if s.key == "" {
			limit = p.MaxConcurrent
		}
		if limit > 0 && n > limit && n > h.busy[s] {
			return fmt.Errorf("%d tasks of %+v run, %d before, and the limit is %d", n, s, h.busy[s], limit)
		}
	}
	h.busy = busy
	clear(h.policies)
	for _, ns := range namespaces {
		for _, b := range m.Behaviors(ns) {
			h.policies[task.Key{Namespace: ns, ID: b.Name}] = b.Rev
		}
	}
	return nil
}

// keyInTurn checks that a task that takes the only slot of its key is the first task in the order of T4 that may take it (SPEC
// L11). It checks only entries of a single command: in other entries the state between the commands is not seen.
func (h *history) keyInTurn(m *task.Machine, ps []task.Proposal, rs []task.Result) error {
	if len(ps) != 1 || rs[0].Code != task.OK || rs[0].Index != m.Index() {
		return nil
	}
	c, ok := ps[0].Command.(task.Assign)
	if !ok {
		return nil
	}
	t := h.tasks[c.Key]
	p := m.Version(t.Namespace, t.Behavior, "").Policy
	if p.MaxPerKey != 1 || t.ConcurrencyKey == "" || t.NotBefore > m.Now() {
		return nil
	}
	begun := func(t *task.Task) bool { return p.KeyStrict && t.Version != "" }
	for _, o := range h.tasks {
		if o == t || o.Namespace != t.Namespace || o.Behavior != t.Behavior || o.ConcurrencyKey != t.ConcurrencyKey || o.Final() || o.Status == task.Running {
			continue
		}
		due := o.NotBefore <= m.Now() && (o.Deadline == 0 || o.Deadline > m.Now())
		if begun(o) && !begun(t) {
			return fmt.Errorf("%v takes the key of %v, which is in its cycle", c.Key, o.Key())
		}
		if due && begun(o) == begun(t) && naive.Before(o, t) {
			return fmt.Errorf("%v takes the key before %v", c.Key, o.Key())
		}
	}
	return nil
}

// recordsRise checks that IDs of store records rise and are never used again (SPEC X2).
func (h *history) recordsRise(m *task.Machine) error {
	top := h.topRecord
	for _, x := range allRecords(m) {
		if _, ok := h.revs[x.ID]; ok {
			return fmt.Errorf("record %d has the rev of a task", x.ID)
		}
		if old, ok := h.records[x.ID]; ok && !reflect.DeepEqual(old, x) {
			return fmt.Errorf("record %d was %+v before, and is %+v", x.ID, old, x)
		} else if !ok && x.ID <= h.topRecord {
			return fmt.Errorf("new record %d, but %d was given before", x.ID, h.topRecord)
		}
		h.records[x.ID] = x
		top = max(top, x.ID)
	}
	h.topRecord = top
	return nil
}
