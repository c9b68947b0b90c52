package clustertest

import "github.com/taskrt/taskrt/task"

// changed checks one version of a task against the version before it, which is nil if the task is new.
func (s *shadow) changed(prev, t *task.Task) {
	s.shape(t)
	if prev == nil {
		stillborn := t.Role == task.RolePartition && t.Status == task.Failure && t.Error.Code == task.CodeCancelled // its operation stops
		if (t.Status != task.Created && !stillborn || t.Attempt != 0) && !s.a.imported(t.Namespace) {
			s.errorf("a new task is %+v (SPEC T1)", t)
		}
		s.count(t, 1)
		return
	}
	s.count(prev, -1)
	switch {
	case t.Status == task.Running && prev.Status != task.Running:
		s.started(prev, t)
	case t.Status == task.Running && t.Lease.Token != prev.Lease.Token:
		s.errorf("%s has token %d while %d is alive (SPEC L3)", t.ID, t.Lease.Token, prev.Lease.Token)
	case t.Status == task.Created && (prev.Status == task.Success || prev.Status == task.Failure),
		prev.Status == task.Success && t.Status == task.Failure,
		prev.Status == task.Created && t.Status == task.Success,
		prev.Status == task.Failure && t.Status == task.Success:
		s.errorf("%s became %v from %v (SPEC T1)", t.ID, t.Status, prev.Status)
	}
	if t.Status != task.Running && t.Attempt != prev.Attempt {
		s.errorf("the attempts of %s went from %d to %d without a lease (SPEC T8)", t.ID, prev.Attempt, t.Attempt)
	}
	s.count(t, 1)
}

// shape checks SPEC T2.
func (s *shadow) shape(t *task.Task) {
	ok := (t.Lease != nil) == (t.Status == task.Running)
	switch t.Status {
	case task.Created:
		ok = ok && t.NotBefore != 0 && t.Error == nil && t.Result.Encoding == task.None
	case task.Running:
		ok = ok && t.StartedAt != 0 && t.Error == nil && t.Result.Encoding == task.None && t.NotBefore == 0
	case task.Success:
		ok = ok && t.Error == nil
	case task.Failure:
		ok = ok && t.Error != nil
	}
	if !ok {
		s.errorf("%s is no task: %+v (SPEC T2)", t.ID, t)
	}
}

// started checks that this lease could be given now. s has not counted the lease yet.
func (s *shadow) started(prev, t *task.Task) {
	name := named{t.Namespace, t.Behavior}
	if t.Lease.Token <= s.token {
		s.errorf("token %d of %s after %d (SPEC L3)", t.Lease.Token, t.ID, s.token)
	}
	s.token = max(s.token, t.Lease.Token)
	if t.Attempt != prev.Attempt+1 {
		s.errorf("attempt %d of %s after %d (SPEC T8)", t.Attempt, t.ID, prev.Attempt)
	}
	if prev.NotBefore == 0 || prev.NotBefore > t.StartedAt && !t.Lease.External() {
		s.errorf("%s was started at %d and is due at %d (SPEC T3)", t.ID, t.StartedAt, prev.NotBefore)
	}
	b := s.behaviors[name]
	if b == nil || b.Deleted || b.Paused {
		s.errorf("%s was started while its behavior is %+v (SPEC L10, B8)", t.ID, b)
		return
	}
	want := prev.Version
	if want == "" {
		want = b.Active
	}
	if t.Version != want {
		s.errorf("%s was started with version %q, want %q (SPEC B2)", t.ID, t.Version, want)
	}
	v, ok := b.Find("")
	if !ok {
		s.errorf("the behavior of %s has no active version: %+v", t.ID, b)
		return
	}
	s.limits(&v.Policy, prev, t)
}

// limits checks the limits of the active version (SPEC L11). t is not counted yet.
func (s *shadow) limits(p *task.Policy, prev, t *task.Task) {
	name := named{t.Namespace, t.Behavior}
	if n := s.running[name]; p.MaxConcurrent > 0 && n >= p.MaxConcurrent {
		s.errorf("%s was started beside %d of %s, max_concurrent is %d (SPEC L11)", t.ID, n, t.Behavior, p.MaxConcurrent)
	}
	if p.MaxPerKey == 0 || t.ConcurrencyKey == "" {
		return
	}
	if n := s.keys[keyed{name, t.ConcurrencyKey}]; n >= p.MaxPerKey {
		s.errorf("%s was started beside %d with key %s, max_per_key is %d (SPEC L11)", t.ID, n, t.ConcurrencyKey, p.MaxPerKey)
	}
	if p.MaxPerKey == 1 {
		s.first(p, prev, t)
	}
}

// first checks the order within a key that may have one task at a time: prev, which starts, must be the first in T4 order of
// the due tasks. With strict order, tasks that have begun their cycle come before all others, due or not.
func (s *shadow) first(p *task.Policy, prev, t *task.Task) {
	holds := p.KeyStrict && begun(prev)
	for _, o := range s.tasks {
		if o.Key() == t.Key() || o.Status == task.Running || o.NotBefore == 0 ||
			o.Namespace != t.Namespace || o.Behavior != t.Behavior || o.ConcurrencyKey != t.ConcurrencyKey {
			continue
		}
		other := p.KeyStrict && begun(o)
		switch {
		case other && !holds:
			s.errorf("%s was started while %s holds the key %s (SPEC L11)", t.ID, o.ID, t.ConcurrencyKey)
		case holds && !other, o.NotBefore > t.StartedAt:
		case prev.NotBefore > t.StartedAt || before(o, prev):
			s.errorf("%s was started before %s of the same key %s, which is due and comes first (SPEC T4, L11)", t.ID, o.ID, t.ConcurrencyKey)
		}
	}
}

// begun reports whether a waiting task had a lease in this cycle, so that it holds its key if the order is strict.
func begun(t *task.Task) bool { return t.Version != "" }

// before is the order of SPEC T4.
func before(a, b *task.Task) bool {
	x, y := int64(dueSince(a))-int64(a.Priority)*60_000, int64(dueSince(b))-int64(b.Priority)*60_000
	return x < y || x == y && a.CreatedRev < b.CreatedRev
}

// dueSince is since when a task is due: a time in the past counts as when it was set.
func dueSince(t *task.Task) task.Time { return max(t.NotBefore, t.DueSince) }
