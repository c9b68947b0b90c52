package clustertest

import (
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// Audit follows what every node applies, entry by entry, and checks at each index what clients cannot see: limits
// hold, tokens and revs rise, a lease is given only where one may be, records change only as SPEC T1 says,
// and all nodes tell the same about the same entry. It knows the state only from the events of the machines.
type Audit struct {
	t *testing.T

	mu      sync.Mutex
	entries map[uint64]uint64            // what the first node told of an entry, by index; the others must tell the same
	told    map[uint64]Told              // every version of a task that any node told of, by rev
	starts  []Start                      // every lease that any node told of
	token   map[uint64]bool              // of starts
	ends    map[task.Key]map[uint64]bool // revs of the final states of operations
	imports map[string]bool              // namespaces whose tasks may be new with attempts behind them
	rules   []func(index uint64, tasks map[task.Key]*task.Task) error
	wrong   int
	wg      sync.WaitGroup
}

// Told is one version of a task, or its removal, as the machines told it.
type Told struct {
	Index   uint64
	Task    *task.Task // before it, if it was removed
	Prev    *task.Task // nil: it is new
	Removed bool
}

// Start is one lease being given.
type Start struct {
	Index uint64
	Key   task.Key
	Lease *task.Lease
}

func newAudit(t *testing.T) *Audit {
	return &Audit{t: t, entries: map[uint64]uint64{}, told: map[uint64]Told{}, token: map[uint64]bool{}, ends: map[task.Key]map[uint64]bool{}, imports: map[string]bool{}}
}

// Imports says that a namespace is imported: its tasks come with what they have behind them, which happened elsewhere. What happens to them then is
// checked as of all others. Say so before the import.
func (a *Audit) Imports(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.imports[namespace] = true
}

// imported reports whether a namespace is imported.
func (a *Audit) imported(namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.imports[namespace]
}

// Rule adds a rule that must hold for all tasks after every entry that changed a task. Add the rule before the tasks that it is about.
func (a *Audit) Rule(rule func(index uint64, tasks map[task.Key]*task.Task) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rules = append(a.rules, rule)
}

// Version returns the version of a task with this rev, if any node told of it.
func (a *Audit) Version(rev uint64) (Told, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.told[rev]
	return v, ok
}

// Between returns the versions that were told with low < rev ≤ high, in order.
func (a *Audit) Between(low, high uint64) []Told {
	a.mu.Lock()
	defer a.mu.Unlock()
	var vs []Told
	for rev := low + 1; rev <= high; rev++ {
		if v, ok := a.told[rev]; ok {
			vs = append(vs, v)
		}
	}
	return vs
}

// Starts returns every lease that was given, in no order.
func (a *Audit) Starts() []Start {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.starts
}

// errorf fails the test. After some failures, further ones are only noise.
func (a *Audit) errorf(format string, args ...any) {
	a.mu.Lock()
	a.wrong++
	n := a.wrong
	a.mu.Unlock()
	if n <= 10 {
		a.t.Errorf(format, args...)
	}
}

// eventBuffer is how many entries an audit may be behind before it has to read the state anew.
const eventBuffer = 1 << 12

// follow audits one node until its store ends.
func (a *Audit) follow(name string, s *raftstore.Store) {
	a.wg.Go(func() {
		for {
			sub := s.Subscribe(eventBuffer)
			sh := newShadow(a, name)
			s.Local(sh.read)
			for evs := range sub.Events() {
				if evs[0].Index > sh.index {
					sh.entry(evs)
				}
			}
			if !sub.Lagged() {
				return
			}
		}
	})
}

// note keeps what a node told about an entry, and compares it with what other nodes told (SPEC C4).
func (a *Audit) note(name string, evs []task.Event) {
	h := fnv.New64a()
	for _, e := range evs {
		fmt.Fprint(h, e.Kind, e.Rev)
		if e.Task != nil {
			fmt.Fprint(h, e.Task.Namespace, e.Task.ID, e.Task.Rev, e.Task.Status, e.Task.NotBefore, e.Task.Attempt, e.Task.Version)
		}
		if e.Prev != nil {
			fmt.Fprint(h, e.Prev.Rev)
		}
	}
	index, sum := evs[0].Index, h.Sum64()
	a.mu.Lock()
	was, known := a.entries[index]
	a.entries[index] = sum
	if !known {
		for _, e := range evs {
			a.keep(&e)
		}
	}
	a.mu.Unlock()
	if known && was != sum {
		a.errorf("%s told other events of entry %d than another node (SPEC C4)", name, index)
	}
}

// keep is called under mu.
func (a *Audit) keep(e *task.Event) {
	switch e.Kind {
	case task.TaskChanged:
		a.told[e.Rev] = Told{Index: e.Index, Task: e.Task, Prev: e.Prev}
		if l := e.Task.Lease; l != nil && !a.token[l.Token] {
			a.token[l.Token] = true
			a.starts = append(a.starts, Start{e.Index, e.Task.Key(), l})
		}
	case task.TaskRemoved:
		a.told[e.Rev] = Told{Index: e.Index, Task: e.Task, Removed: true}
	}
}

type named struct{ namespace, name string }

type keyed struct {
	named
	key string
}

// shadow is the state of one node, as far as its events tell it.
type shadow struct {
	a         *Audit
	name      string
	index     uint64
	rev       uint64
	token     uint64 // highest that was given
	tasks     map[task.Key]*task.Task
	behaviors map[named]*task.Behavior
	running   map[named]int64
	keys      map[keyed]int64 // running tasks that have a concurrency key

	operations map[task.Key]*task.Operation
	completed  map[task.Key]uint64 // completions that have ended: at which entry
	ends       []task.Key          // operations that got a final state in this entry
}

func newShadow(a *Audit, name string) *shadow {
	return &shadow{
		a: a, name: name, tasks: map[task.Key]*task.Task{}, behaviors: map[named]*task.Behavior{},
		running: map[named]int64{}, keys: map[keyed]int64{},
		operations: map[task.Key]*task.Operation{}, completed: map[task.Key]uint64{},
	}
}

// read takes over the state of a machine.
func (s *shadow) read(m *task.Machine) {
	s.index, s.rev = m.Index(), m.Rev()
	all, _ := m.Tasks(task.Filter{Limit: math.MaxInt})
	for _, t := range all {
		s.tasks[t.Key()] = t
		s.count(t, 1)
		if t.Lease != nil {
			s.token = max(s.token, t.Lease.Token)
		}
	}
	operations, _ := m.Operations(task.OperationFilter{Limit: math.MaxInt})
	for _, o := range operations {
		s.operations[o.Key()] = o
	}
	for _, ns := range m.Namespaces() {
		for _, b := range m.Behaviors(ns.Name) {
			s.behaviors[named{ns.Name, b.Name}] = b
		}
	}
}

func (s *shadow) errorf(format string, args ...any) {
	s.a.errorf("%s at entry %d: %s", s.name, s.index, fmt.Sprintf(format, args...))
}

// entry follows one log entry.
func (s *shadow) entry(evs []task.Event) {
	s.index = evs[0].Index
	for i := range evs {
		s.event(&evs[i])
	}
	s.concluded()
	s.a.note(s.name, evs)
	s.a.mu.Lock()
	rules := s.a.rules
	s.a.mu.Unlock()
	for _, rule := range rules {
		if err := rule(s.index, s.tasks); err != nil {
			s.errorf("%v", err)
		}
	}
}

func (s *shadow) event(e *task.Event) {
	switch e.Kind {
	case task.TaskChanged:
		key, known := e.Task.Key(), s.tasks[e.Task.Key()]
		if e.Task.Rev != e.Rev || e.Rev <= s.rev {
			s.errorf("rev %d of %s after %d", e.Rev, key.ID, s.rev)
		}
		if (known == nil) != (e.Prev == nil) || known != nil && known.Rev != e.Prev.Rev {
			s.errorf("%s changed from a version that was not told: %+v after %+v", key.ID, e.Prev, known)
		}
		s.changed(e.Prev, e.Task)
		s.tasks[key], s.rev = e.Task, e.Rev
		if e.Task.Role == task.RoleCompletion && e.Task.Final() && key.Namespace == task.DefaultNamespace {
			s.completed[key] = s.index
		}
	case task.TaskRemoved:
		if known := s.tasks[e.Task.Key()]; known == nil || e.Rev <= s.rev {
			s.errorf("removed %s, which is %+v", e.Task.ID, known)
		}
		s.count(e.Task, -1)
		delete(s.tasks, e.Task.Key())
		s.rev = e.Rev
	case task.OperationChanged:
		s.operation(e.Operation)
	case task.OperationRemoved:
		delete(s.operations, e.Operation.Key())
	case task.BehaviorChanged:
		s.behaviors[named{e.Behavior.Namespace, e.Behavior.Name}] = e.Behavior
		s.rev = max(s.rev, e.Rev)
	}
}

// count counts a running task in or out.
func (s *shadow) count(t *task.Task, n int64) {
	if t.Status != task.Running {
		return
	}
	b := named{t.Namespace, t.Behavior}
	s.running[b] += n
	if t.ConcurrencyKey != "" {
		s.keys[keyed{b, t.ConcurrencyKey}] += n
	}
}
