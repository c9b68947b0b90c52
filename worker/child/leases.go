package child

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/spans"
	"github.com/taskrt/taskrt/worker/stream"
)

// lease is an attempt that the leader has given to the child.
type lease struct {
	key      task.Key
	behavior string
	session  uint64
	attempt  int64
	trace    string
	spans    *spans.Attempt // nil: nobody wants them
	until    time.Duration  // by then the leader has ended it (SPEC L7)
	over     bool           // it may not act any longer; its last report may be on its way
	told     bool           // its end was told
	log      int64          // bytes of its log that have passed
	maxLog   int64          // 0: no bound
}

// leases are what the leader has given to the child, and for how long. The parent learns this from the leader's frames on their way to the child, and
// from the times at which the child's frames passed. So a child can neither claim another attempt nor more time.
type leases struct {
	most   int  // leases that are remembered
	traces bool // the spans of sampled traces are wanted

	mu        sync.Mutex
	byToken   map[uint64]*lease
	given     []uint64 // tokens in the order in which they came
	ended     []uint64 // tokens of leases that are over, in the order of their ends
	behaviors map[stream.Behavior]bool
	modules   map[string]bool // digests of modules that the leader has named
	held      worker.Held     // the session; its margin counts from when the parent passed on the message that the leader has answered
	redirect  string          // where the leader is, as a node that does not lead has told
	dozing    bool            // came gets an item with the next lease

	came chan struct{} // capacity 1
}

const (
	// endedLeases is how many leases are remembered besides those that a session may hold: a last report waits for its answer.
	endedLeases = 1 << 16
	// leaseSlack is longer than a cancel's grace and a session's TTL, which the leader adds to the time of an attempt.
	leaseSlack = 2 * time.Hour
	// logSlack is longer than the line which says that the log of an attempt has reached its limit.
	logSlack = 256
)

func newLeases(slots int, traces bool) *leases {
	return &leases{traces: traces, most: slots*worker.LeasesPerSlot + endedLeases, byToken: map[uint64]*lease{}, behaviors: map[stream.Behavior]bool{}, modules: map[string]bool{},
		came: make(chan struct{}, 1)}
}

// see takes a frame of the leader. If the frame answers a message of the child, at is the boot time before this message passed.
func (l *leases) see(f *stream.Frame, at time.Duration) {
	now := runtime.Boottime()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range f.Assign {
		if a := &f.Assign[i]; a.Task != nil && a.Task.Lease != nil {
			l.giveLocked(a, now)
		}
	}
	for _, mod := range f.Prepare {
		l.modules[mod.Digest] = true
	}
	for _, token := range f.Halt {
		l.endLocked(token)
	}
	switch {
	case f.Welcome != nil && f.Welcome.Session != l.held.Session:
		l.held = worker.Held{Session: f.Welcome.Session, TTL: time.Duration(f.Welcome.TTL) * time.Millisecond, Sent: at}
		for token, x := range l.byToken { // order-free: each by itself
			if x.session < l.held.Session {
				l.endLocked(token)
			}
		}
	case f.Welcome != nil || f.Renewed != nil:
		l.held.Sent = max(l.held.Sent, at)
	case f.Refused != nil && f.Refused.Code == stream.NotLeader:
		l.redirect = f.Refused.Leader
	}
}

func (l *leases) giveLocked(a *stream.Assignment, now time.Duration) {
	t := a.Task
	l.modules[a.Module.Digest] = true
	l.behaviors[stream.Behavior{Module: a.Module.Digest, Index: a.Policy.Index}] = true
	if _, again := l.byToken[t.Lease.Token]; again { // pushed again: an attempt that has ended stays ended
		return
	}
	l.byToken[t.Lease.Token] = &lease{
		key: t.Key(), behavior: t.Behavior, session: t.Lease.Session, attempt: t.Attempt, trace: t.Trace, maxLog: a.Policy.Limits.LogBytes,
		until: now + time.Duration(a.Policy.RunTimeout)*time.Millisecond + leaseSlack,
	}
	if l.traces {
		l.byToken[t.Lease.Token].spans = spans.Of(t)
	}
	l.given = append(l.given, t.Lease.Token)
	if l.dozing {
		l.dozing = false
		l.came <- struct{}{}
	}
	if t.Lease.Session < l.held.Session {
		l.endLocked(t.Lease.Token)
	}
	for len(l.byToken) > l.most {
		l.forgetLocked()
	}
	if len(l.given) > 2*l.most {
		l.given = slices.DeleteFunc(l.given, func(token uint64) bool { return l.byToken[token] == nil })
	}
}

// doze reports whether the child has no lease that may act. If so, came gets an item as soon as the next one comes.
func (l *leases) doze() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.came: // for a former doze that ended by itself
	default:
	}
	l.dozing = len(l.byToken) == len(l.ended)
	return l.dozing
}

// forgetLocked forgets the lease that ended first. If none has ended, it forgets the lease that was given first: a child holds no more leases than
// its session may.
func (l *leases) forgetLocked() {
	from := &l.ended
	if len(l.ended) == 0 {
		from = &l.given
	}
	delete(l.byToken, (*from)[0])
	*from = (*from)[1:]
}

func (l *leases) endLocked(token uint64) {
	if x := l.byToken[token]; x != nil && !x.over {
		x.over = true
		l.ended = append(l.ended, token)
	}
}

// end ends an attempt's right to act. It returns whose attempt it was, the first time.
func (l *leases) end(token uint64) (of lease, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.byToken[token]
	if x == nil || x.told {
		return lease{}, false
	}
	x.told = true
	l.endLocked(token)
	return *x, true
}

// find checks a right to act, right before the effect (SPEC A10, L5).
func (l *leases) find(r worker.Lease) (lease, error) {
	now := runtime.Boottime()
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.byToken[r.Token]
	if found == nil || found.over || now >= found.until || now >= r.Until || l.held.Overdue(now) {
		return lease{}, runtime.ErrLeaseLost
	}
	return *found, nil
}

var errNotGiven = errors.New("the leader has not given it this attempt")

// of returns the attempt of the token by which the child speaks of a task. The attempt may have ended.
func (l *leases) of(token uint64, key task.Key) (lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.byToken[token]
	if x == nil || x.key != key {
		return lease{}, errNotGiven
	}
	return *x, nil
}

// knows reports whether the leader has given the child an attempt.
func (l *leases) knows(token uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byToken[token] != nil
}

// logged counts a piece of an attempt's log.
func (l *leases) logged(p *stream.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.byToken[p.Token]
	if x == nil || x.key != p.Key || x.attempt != p.Attempt {
		return errNotGiven
	}
	x.log += int64(len(p.Data))
	if x.maxLog > 0 && max(x.log, p.Offset+int64(len(p.Data))) > x.maxLog+logSlack {
		return fmt.Errorf("more than the %d bytes that its log may have", x.maxLog)
	}
	return nil
}

// ttl returns the TTL of the child's session, as the leader has said it; 0: the child has had none.
func (l *leases) ttl() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held.TTL
}

// hasRun reports whether an attempt of a behavior was given to the child.
func (l *leases) hasRun(b stream.Behavior) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behaviors[b]
}

// mayMake checks that the child says how far it is with modules that the leader has named, in words of a worker.
func (l *leases) mayMake(us []stream.Unready) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range us {
		if u := &us[i]; !u.Valid() || !l.modules[u.Module] {
			return fmt.Errorf("how far it is with %.100q, of which it was told nothing, or in words of its own", u.Module)
		}
	}
	return nil
}

// wasTold reports whether the last node that did not lead has told the child that the leader is there.
func (l *leases) wasTold(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return addr != "" && addr == l.redirect
}
