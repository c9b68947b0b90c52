package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// symbols resolves the names in operations to the machine's numbers.
type symbols struct {
	tokens   map[task.Key]map[int64]uint64
	revs     map[task.Key][]uint64
	sessions map[string][]uint64
	seen     map[uint64]bool

	behaviors map[task.Key][]uint64 // revs
	cleanups  map[task.Key][]string // by operation: IDs, which contain tokens

	operations map[task.Key][]uint64 // revs
	last       *task.Machine         // to take exports from: it is read before an entry is applied only
	records    []uint64              // of the TaskStore, in the order of their IDs
	jobs       []uint64              // bulk jobs, in the order of their starts
	created    map[task.Key][]uint64 // numbers of creation
}

func newSymbols() *symbols {
	return &symbols{
		tokens: map[task.Key]map[int64]uint64{}, revs: map[task.Key][]uint64{}, sessions: map[string][]uint64{},
		seen: map[uint64]bool{}, behaviors: map[task.Key][]uint64{}, cleanups: map[task.Key][]string{}, operations: map[task.Key][]uint64{}, created: map[task.Key][]uint64{},
	}
}

// observe learns the numbers of the machine's present state.
func (s *symbols) observe(m *task.Machine) {
	s.last = m
	for _, t := range allTasks(m) {
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		if n := len(s.revs[k]); n == 0 || s.revs[k][n-1] != t.Rev {
			s.revs[k] = append(s.revs[k], t.Rev)
		}
		if n := len(s.created[k]); n == 0 || s.created[k][n-1] != t.CreatedRev {
			s.created[k] = append(s.created[k], t.CreatedRev)
		}
		if of := (task.Key{Namespace: t.Namespace, ID: t.Parent}); t.Role == task.RoleCleanup && !slices.Contains(s.cleanups[of], t.ID) {
			s.cleanups[of] = append(s.cleanups[of], t.ID)
		}
		if t.Lease != nil {
			if s.tokens[k] == nil {
				s.tokens[k] = map[int64]uint64{}
			}
			s.tokens[k][t.Attempt] = t.Lease.Token
		}
	}
	for _, x := range task.Jobs(m) {
		if !slices.Contains(s.jobs, x.Number) {
			s.jobs = append(s.jobs, x.Number)
		}
	}
	for _, o := range allOperations(m) {
		if revs := s.operations[o.Key()]; len(revs) == 0 || revs[len(revs)-1] != o.Rev {
			s.operations[o.Key()] = append(revs, o.Rev)
		}
	}
	for _, x := range m.Sessions() {
		if !s.seen[x.ID] {
			s.seen[x.ID] = true
			s.sessions[x.Worker] = append(s.sessions[x.Worker], x.ID)
		}
	}
	for _, ns := range namespaces {
		for _, b := range m.Behaviors(ns) {
			k := task.Key{Namespace: ns, ID: b.Name}
			if n := len(s.behaviors[k]); n == 0 || s.behaviors[k][n-1] != b.Rev {
				s.behaviors[k] = append(s.behaviors[k], b.Rev)
			}
		}
	}
	for _, x := range allRecords(m) {
		if i, ok := slices.BinarySearch(s.records, x.ID); !ok {
			s.records = slices.Insert(s.records, i, x.ID)
		}
	}
}

const never = 1 << 62 // a token, rev or session that no machine has given

func (s *symbols) token(o Op) uint64 {
	k := o.key()
	if o.Of != "" {
		k.ID = o.Of
	}
	if t, ok := s.tokens[k][o.Attempt]; ok {
		return t
	}
	return never
}

func (s *symbols) rev(o Op) uint64 { return before(s.revs[o.key()], o.Age) }

// before returns the n-th last number, counted from 0, or a number that never was.
func before(of []uint64, n int) uint64 {
	if n < len(of) {
		return of[len(of)-1-n]
	}
	return never
}

// valid is a BehaviorRev.
func (s *symbols) valid(o Op) uint64 {
	if o.Valid == 0 {
		return 0
	}
	return before(s.behaviors[task.Key{Namespace: o.key().Namespace, ID: o.Behavior}], o.Valid-1)
}

func (s *symbols) record(o Op) uint64 {
	if o.Record >= 1 && o.Record <= len(s.records) {
		return s.records[o.Record-1]
	}
	return never
}

func (s *symbols) session(o Op) uint64 {
	if ids := s.sessions[o.Worker]; o.Nth >= 1 && o.Nth <= len(ids) {
		return ids[o.Nth-1]
	}
	return never
}

// name is the inverse of session.
func (s *symbols) name(session uint64) (worker string, nth int) {
	for w, ids := range s.sessions {
		if i := slices.Index(ids, session); i >= 0 {
			return w, i + 1
		}
	}
	return "", 0
}

// symbolic returns the name that a script has for the operation's ID: the n-th cleanup of op-1 is op-1:cleanup:#n.
func (s *symbols) symbolic(o Op) string {
	k := o.key()
	parent, _, _ := strings.Cut(k.ID, ":")
	if i := slices.Index(s.cleanups[task.Key{Namespace: k.Namespace, ID: parent}], k.ID); i >= 0 {
		return fmt.Sprint(parent, cleanupMark, i+1)
	}
	return o.ID
}

const cleanupMark = ":cleanup:#"

// real is the inverse of symbolic.
func (s *symbols) real(o Op) string {
	parent, n, ok := strings.Cut(o.ID, cleanupMark)
	if !ok {
		return o.ID
	}
	all := s.cleanups[task.Key{Namespace: o.key().Namespace, ID: parent}]
	if i, err := strconv.Atoi(n); err == nil && i >= 1 && i <= len(all) {
		return all[i-1]
	}
	return parent + ":cleanup:none"
}

func (o Op) key() task.Key {
	if o.NS == "" {
		return task.Key{Namespace: task.DefaultNamespace, ID: o.ID}
	}
	return task.Key{Namespace: o.NS, ID: o.ID}
}
