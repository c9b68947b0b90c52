package clustertest

import (
	"strconv"

	"github.com/taskrt/taskrt/task"
)

// This file checks operations at every entry (SPEC O1, O3). It leaves out operations of other namespaces than default: a purge
// ends them as nothing else does.

// operationSteps are the changes of status that exist. A retry goes back.
var operationSteps = map[[2]task.OperationStatus]bool{
	{0, task.OperationRunning}: true,

	{task.OperationRunning, task.OperationRunning}:       true,
	{task.OperationRunning, task.OperationCompleting}:    true,
	{task.OperationRunning, task.OperationSuccess}:       true,
	{task.OperationRunning, task.OperationFailure}:       true,
	{task.OperationCompleting, task.OperationCompleting}: true,
	{task.OperationCompleting, task.OperationSuccess}:    true,
	{task.OperationCompleting, task.OperationFailure}:    true,
	{task.OperationSuccess, task.OperationSuccess}:       true, // a cleanup is counted, a removal begins
	{task.OperationFailure, task.OperationFailure}:       true,
	{task.OperationFailure, task.OperationRunning}:       true,
	{task.OperationFailure, task.OperationCompleting}:    true,
}

// operation follows one version of a record.
func (s *shadow) operation(o *task.Operation) {
	key := o.Key()
	prev := s.operations[key]
	before := task.OperationStatus(0)
	if prev != nil {
		before = prev.Status
	}
	s.operations[key] = o
	if key.Namespace != task.DefaultNamespace {
		return
	}
	if !operationSteps[[2]task.OperationStatus{before, o.Status}] {
		s.errorf("operation %s became %v from %v (SPEC O1)", o.ID, o.Status, before)
	}
	if o.Final() != (o.FinishedAt != 0) || o.Status == task.OperationSuccess && o.Error != nil || o.Status == task.OperationFailure && o.Error == nil {
		s.errorf("operation %s is none: %+v", o.ID, o)
	}
	if o.Final() && before < task.OperationSuccess {
		s.a.ended(key, o.Rev)
		s.ends = append(s.ends, key)
	}
}

// ended counts the final states of an operation. Every node tells of each final state; by its rev it counts once.
func (a *Audit) ended(key task.Key, rev uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ends[key] == nil {
		a.ends[key] = map[uint64]bool{}
	}
	a.ends[key][rev] = true
}

// Ends returns how often an operation of the default namespace got a final state.
func (a *Audit) Ends(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ends[task.Key{Namespace: task.DefaultNamespace, ID: id}])
}

// concluded checks, after an entry, what ended in it. An operation and its completion end together. Nothing of an
// operation that has ended goes on, except its cleanups.
func (s *shadow) concluded() {
	for _, key := range s.ends {
		o := s.operations[key]
		if o == nil || !o.Final() {
			continue // removed, or retried, in the same entry
		}
		if c := s.tasks[task.Key{Namespace: key.Namespace, ID: key.ID + ":complete"}]; o.Policy.Complete != "" && (c == nil || !c.Final() || s.completed[c.Key()] != s.index) {
			s.errorf("operation %s has ended and its completion is %+v (SPEC O3)", key.ID, c)
		}
		for i := range o.Partitions {
			p := s.tasks[task.Key{Namespace: key.Namespace, ID: key.ID + ":" + strconv.FormatInt(i, 10)}]
			if p == nil || !p.Final() || o.Status == task.OperationSuccess && p.Status != task.Success {
				s.errorf("operation %s is %v and its partition %d %+v (SPEC O3)", key.ID, o.Status, i, p)
				break
			}
		}
	}
	for key, index := range s.completed {
		t := s.tasks[key]
		if index != s.index || t == nil || !t.Final() {
			continue
		}
		if o := s.operations[task.Key{Namespace: key.Namespace, ID: t.Parent}]; o != nil && !o.Final() && !o.Removing {
			s.errorf("the completion %s has ended and its operation is %v (SPEC O3)", key.ID, o.Status)
		}
	}
	s.ends = s.ends[:0]
}
