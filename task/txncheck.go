package task

import "github.com/taskrt/taskrt/task/names"

// What a transaction depends on (SPEC X1). Nothing here changes anything.

// check returns the answer and false if the transaction cannot happen. A mistake of its shape comes first, then all reasons that the caller can do
// something about, then what the proposer must check again.
func (c *Txn) check(m *Machine) (Result, bool) {
	if !m.NamespaceExists(c.Namespace) {
		return noNamespace(), false
	}
	if r, ok := c.checkShape(m); !ok {
		return r, false
	}
	k := txnChecker{m: m, namespace: c.Namespace}
	for i := range c.Depends {
		k.depend(&c.Depends[i])
	}
	for i := range c.Submits {
		k.submit(&c.Submits[i])
	}
	for i := range c.Updates {
		k.update(&c.Updates[i])
	}
	for i := range c.Finishes {
		k.finish(&c.Finishes[i])
	}
	for i := range c.Deletes {
		k.delete(&c.Deletes[i])
	}
	if len(k.reasons) > 0 {
		return Result{Code: Conflict, Message: "the transaction did not happen: see the reasons", Reasons: k.reasons}, false
	}
	return k.other, k.other.Code == OK
}

// checkShape refuses what the proposer should have seen.
func (c *Txn) checkShape(m *Machine) (Result, bool) {
	if len(c.Depends)+len(c.Submits)+len(c.Updates)+len(c.Finishes)+len(c.Deletes) > MaxTxnParts {
		return invalid("txn", "a transaction has at most 1000 parts"), false
	}
	for i := range c.Submits {
		s := &c.Submits[i]
		if s.IfExists > Fail || s.Existing {
			return invalid("submit", "a submit in a transaction joins an existing task or fails"), false
		}
		if r, ok := s.check(m); !ok {
			return r, false
		}
	}
	for i := range c.Updates {
		if r, ok := c.Updates[i].check(); !ok {
			return r, false
		}
	}
	for i := range c.Finishes {
		f := &c.Finishes[i]
		if r, ok := checkUsed(f.used(), f.External); !ok {
			return r, false
		}
	}
	if c.namesTwice() {
		return invalid("txn", "a transaction changes a task only once"), false
	}
	return Result{}, true
}

// namesTwice reports whether two parts change the same task.
func (c *Txn) namesTwice() bool {
	ids := make(map[string]bool, len(c.Submits)+len(c.Updates)+len(c.Finishes)+len(c.Deletes))
	names.Note(ids, len(c.Submits), func(i int) string { return c.Submits[i].ID })
	names.Note(ids, len(c.Updates), func(i int) string { return c.Updates[i].ID })
	names.Note(ids, len(c.Finishes), func(i int) string { return c.Finishes[i].Key.ID })
	names.Note(ids, len(c.Deletes), func(i int) string { return c.Deletes[i].ID })
	return len(ids) < len(c.Submits)+len(c.Updates)+len(c.Finishes)+len(c.Deletes)
}

func (u *TxnUpdate) check() (Result, bool) {
	switch {
	case u.NotBefore != nil && *u.NotBefore < 0, u.Delay != nil && *u.Delay < 0, u.Deadline != nil && *u.Deadline < 0:
		return invalid("not_before", "a time or delay is negative"), false
	case u.Priority != nil && (*u.Priority < 0 || *u.Priority > 9):
		return invalid("priority", "a priority is 0 to 9"), false
	case u.Params != nil && u.Params.wrong() != "":
		return invalid("params", u.Params.wrong()), false
	case len(u.ConcurrencyKey) > maxConcurrencyKey:
		return invalid("concurrency_key", "a concurrency key is at most 257 bytes"), false
	case !sortedLabels(u.Labels):
		return invalid("labels", "names must be unique, and sorted by the proposer"), false
	}
	return Result{}, true
}

// txnChecker collects why a transaction cannot happen: one reason per part at most.
type txnChecker struct {
	m         *Machine
	namespace string
	reasons   []Reason
	other     Result // the first refusal for which there is no Reason
}

func (k *txnChecker) because(kind, id string) {
	k.reasons = append(k.reasons, Reason{Kind: kind, ID: id})
}

// task returns the task that a part names. If there is none, or it has another rev, task notes the reason and returns nil. Rev 0 fits any.
func (k *txnChecker) task(id string, rev uint64) *row {
	r := k.m.find(Key{k.namespace, id})
	switch {
	case r == nil:
		k.because(ReasonMissing, id)
	case rev != 0 && k.m.task(r).Rev != rev:
		k.because(ReasonChanged, id)
	default:
		return r
	}
	return nil
}

// idle is task for a part that must not meet a running task.
func (k *txnChecker) idle(id string, rev uint64) *row {
	if r := k.m.find(Key{k.namespace, id}); r != nil && k.m.task(r).Status == Running {
		k.because(ReasonLeased, id)
		return nil
	}
	return k.task(id, rev)
}

func (k *txnChecker) depend(d *TxnDepend) {
	r := k.task(d.ID, d.Rev)
	if r != nil && d.Token != 0 && (k.m.task(r).Lease == nil || k.m.task(r).Lease.Token != d.Token) {
		k.because(ReasonChanged, d.ID)
	}
}

func (k *txnChecker) submit(s *Submit) {
	_, _, refusal := s.meet(k.m)
	switch refusal.Code {
	case OK:
	case AlreadyExists, OtherBehavior:
		k.because(ReasonExists, s.ID)
	default:
		k.refuse(refusal)
	}
}

func (k *txnChecker) update(u *TxnUpdate) {
	if refusal, ok := k.m.writable(k.namespace); !ok {
		k.refuse(refusal)
	}
	r := k.own(u.ID, u.Rev)
	if r == nil {
		return
	}
	if k.m.task(r).Final() && (u.NotBefore != nil || u.Delay != nil || u.Params != nil) {
		k.because(ReasonChanged, u.ID) // the task will not run by itself: retry and resubmit make it run
		return
	}
	if b := k.m.of(r).behavior; u.Params != nil && u.BehaviorRev != 0 && (b == nil || b.Rev != u.BehaviorRev) {
		k.refuse(behaviorChanged())
	}
	if u.Params != nil {
		if refusal, ok := k.m.admit("params", u.Params); !ok {
			k.refuse(refusal)
		}
	}
}

func (k *txnChecker) finish(c *Finish) {
	if k.task(c.Key.ID, 0) == nil {
		return
	}
	r, _ := k.m.reported(c.Key, c.Token, c.External)
	if r == nil || k.m.deadlinePassed(k.m.task(r)) && !outdated(k.m.task(r), c.Seq) {
		k.because(ReasonChanged, c.Key.ID)
		return
	}
	if refusal, ok := c.admit(k.m, k.m.task(r)); !ok && !outdated(k.m.task(r), c.Seq) {
		k.refuse(refusal)
	}
}

func (k *txnChecker) delete(d *TxnDelete) { k.own(d.ID, d.Rev) }

// own is idle for a part that must not meet a task of an operation.
func (k *txnChecker) own(id string, rev uint64) *row {
	r := k.idle(id, rev)
	if r != nil && k.m.task(r).Role != RoleNone {
		k.refuse(operationTask(k.m.task(r)))
		return nil
	}
	return r
}

func (k *txnChecker) refuse(r Result) {
	if k.other.Code == OK {
		k.other = r
	}
}
