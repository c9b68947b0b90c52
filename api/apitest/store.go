package apitest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/taskrt/taskrt/node/audit"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// store is the replicated store of a cluster of one member without a log: proposed commands are applied at once.
type store struct {
	start time.Time

	mu      sync.Mutex
	machine *task.Machine
	index   uint64
	grown   chan struct{} // closed and replaced at every entry
	subs    map[*subscription]struct{}
}

const (
	// self is the only member, and its address.
	self = "fake"
	// eventsAt is of how many entries the events may wait for a subscriber before it is cut off.
	eventsAt = 4096
)

// newStore makes a store at the feature level of this build: the suite may ask for whatever the build knows.
func newStore() *store {
	s := &store{start: time.Now(), machine: task.NewMachine(), grown: make(chan struct{}), subs: map[*subscription]struct{}{}}
	for level := task.FirstLevel; level < task.KnownLevel; level++ {
		s.apply([]task.Proposal{{Command: task.RaiseLevel{Level: level + 1}}})
	}
	return s
}

// apply applies one entry of the log.
func (s *store) apply(ps []task.Proposal) []task.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index++
	now, lease := s.stamps()
	results, events := s.machine.Apply(task.Header{Index: s.index, Term: 1, Now: now, LeaseNow: lease}, ps)
	close(s.grown)
	s.grown = make(chan struct{})
	if len(events) > 0 {
		for sub := range s.subs {
			sub.tell(events)
		}
	}
	return results
}

func (s *store) stamps() (task.Time, task.LeaseTime) {
	return task.Time(time.Now().UnixMilli()), task.LeaseTime(time.Since(s.start).Milliseconds()) + 1
}

// Stamps implements lead.Store, as the next three methods do.
func (s *store) Stamps() (task.Time, task.LeaseTime, bool) {
	now, lease := s.stamps()
	return now, lease, true
}

func (s *store) Accompany(raftstore.Companion) {}
func (s *store) Leader() (id, addr string)     { return self, self }

func (s *store) ProposeLocal(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	return s.Propose(ctx, cmds...)
}

// Propose implements service.Store, as the next five methods do.
func (s *store) Propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command, ps[i].Caller = c, audit.Called(service.Caller(ctx), c)
	}
	return s.apply(ps), nil
}

func (s *store) ProposeKeyed(ctx context.Context, key raftstore.Key, cmds ...task.Command) ([]task.Result, error) {
	var ps []task.Proposal
	var at []int
	for i, c := range cmds {
		if c == nil {
			continue
		}
		at = append(at, i)
		ps = append(ps, task.Proposal{
			Origin:  task.Origin{Process: key.Process, Seq: uint64(i) + 1, Lowest: uint64(at[0]) + 1, Body: max(key.Body, 1)},
			Caller:  audit.Called(service.Caller(ctx), c),
			Command: c,
		})
	}
	results := make([]task.Result, len(cmds))
	for i, r := range s.apply(ps) {
		results[at[i]] = r
	}
	return results, nil
}

func (s *store) Read(_ context.Context, f func(*task.Machine)) error {
	s.Local(f)
	return nil
}

func (s *store) Local(f func(*task.Machine)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.machine)
}

func (s *store) WaitIndex(ctx context.Context, index uint64) error {
	for {
		s.mu.Lock()
		here, grown := s.index >= index, s.grown
		s.mu.Unlock()
		if here {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("%w: wait for index %d: %w", raftstore.ErrBehind, index, ctx.Err())
		}
	}
}

func (s *store) Freeze(context.Context) (state *task.Frozen, err error) {
	s.Local(func(m *task.Machine) { state = m.Freeze() })
	return state, nil
}

// Status implements files.State.
func (s *store) Status() raftstore.Status {
	return raftstore.Status{ID: self, Members: []raftstore.Member{{ID: self, Addr: self, Voter: true}}}
}

// subscription delivers the events of a store.
type subscription struct {
	store   *store
	c       chan []task.Event
	waiting chan struct{}
	lagged  bool // guarded by store.mu, as ended is
	ended   bool
}

func (s *store) subscribe() *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &subscription{store: s, c: make(chan []task.Event, eventsAt), waiting: make(chan struct{}, 1)}
	s.subs[sub] = struct{}{}
	return sub
}

// tell passes events on, or cuts the subscriber off. The caller has the lock.
func (s *subscription) tell(events []task.Event) {
	select {
	case s.c <- events:
		if len(s.c) > eventsAt/2 {
			s.wake()
		}
	default:
		s.lagged = true
		s.end()
	}
}

func (s *subscription) wake() {
	select {
	case s.waiting <- struct{}{}:
	default:
	}
}

// end ends a subscription. A second end does nothing. The caller has the lock.
func (s *subscription) end() {
	if !s.ended {
		s.ended = true
		close(s.c)
		s.wake()
		delete(s.store.subs, s)
	}
}

// Events implements lead.Subscription and similar interfaces, as the next methods do.
func (s *subscription) Events() <-chan []task.Event { return s.c }

func (s *subscription) Waiting() <-chan struct{} { return s.waiting }

func (s *subscription) Lagged() bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.lagged
}

func (s *subscription) Close() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.end()
}
