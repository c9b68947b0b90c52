package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker/recent"
	"github.com/taskrt/taskrt/worker/stream"
)

// session is one session of this worker and everything that dies with it. Its runs and their reports belong to it, so nothing of a lost session can
// be reported in the name of the next. A session outlives connections.
type session struct {
	w     *Worker
	id    uint64
	ttl   time.Duration
	fence *fence
	ctx   context.Context // ends when the session is over; the cause says why
	end   context.CancelCauseFunc
	wake  chan struct{} // capacity 1: there is something to send
	live  chan struct{} // capacity 1: a run has progress that was not told

	mu       sync.Mutex // never held while asking alive, which may take it
	over     bool       // lose has run
	bye      bool       // the worker wants to end the session
	leader   string
	runs     map[uint64]*run       // by token: runs whose guests run, and runs with an unanswered report
	begun    []*run                // runs in phase executing or storing: no more than there are slots
	busy     map[*behaviorPace]int // how many runs have not reached phase reporting
	finished recent.Tokens         // tokens that are done with: a late duplicate of such an assignment runs nothing
	acked    uint64                // number of the last assignment received
	out      outbox
	asks     []*asking    // questions to the leader without an answer
	asked    uint64       // number of the last question
	logs     []stream.Log // to send before the next reports
	renewal  uint64       // number of the last Renew
	renewals map[uint64]time.Duration
	clock    leaseClock
	changed  chan struct{} // closed when runs, their phases or reports change; nil: nobody waits for that
}

func newSession(parent context.Context, w *Worker, welcome *stream.Welcome, sent time.Duration) *session {
	ttl := time.Duration(welcome.TTL) * time.Millisecond
	s := &session{
		w: w, id: welcome.Session, ttl: ttl, leader: welcome.Leader,
		fence: newFence(w.cfg.Boottime, ttl, sent),
		wake:  make(chan struct{}, 1),
		live:  make(chan struct{}, 1),
		runs:  map[uint64]*run{}, busy: map[*behaviorPace]int{}, renewals: map[uint64]time.Duration{}, clock: leaseClock{sent, welcome.LeaseNow},
	}
	s.ctx, s.end = context.WithCancelCause(parent)
	return s
}

// alive reports whether the session's guests may execute and act now. If they may not, the session ends here (SPEC L5).
// Everything with an effect outside asks first.
func (s *session) alive() bool { return s.aliveAt(s.w.cfg.Boottime()) }

// aliveAt is alive for a caller that has just read the boot time, because it needs the time itself: reading it is a system call.
func (s *session) aliveAt(now time.Duration) bool {
	if s.fence.okAt(now) && s.ctx.Err() == nil {
		return true
	}
	s.lose(runtime.ErrKilledLease)
	return false
}

// lose ends the session: it stops all guests and drops all reports. Only the first call counts. It tells the guests with the lock
// held, so that guests that end at once are counted too.
func (s *session) lose(cause error) {
	s.fence.strike()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	s.end(cause)
	s.out, s.logs = outbox{}, nil
	stopped := 0
	for token, r := range s.runs {
		if r.phase == reporting {
			delete(s.runs, token)
			continue
		}
		stopped++
		if s.w.queue.leave(r) {
			go r.giveUp()
		}
	}
	s.announceLocked()
	s.w.log.Info("session over", "session", s.id, "cause", context.Cause(s.ctx), "stopped", stopped)
}

// watch looks at the clock until the session is over and none of its guests is left. It uses a ticker that reads the clock, and not
// a timer set to the margin, because timers stand still while the machine is suspended.
func (s *session) watch() {
	t := time.NewTicker(max(percent(s.ttl, tickPercent), time.Millisecond))
	defer t.Stop()
	for s.alive() {
		s.overdue()
		select {
		case <-t.C:
		case <-s.ctx.Done():
		}
	}
	told := false
	for {
		s.mu.Lock()
		left, tokens, changed := len(s.runs), s.executingLocked(), s.changedLocked()
		s.mu.Unlock()
		if left == 0 {
			return
		}
		if late, is := s.fence.late(); is && len(tokens) > 0 && !told {
			told = true
			s.w.log.Error("guests execute past the session's margin and cannot be stopped: the process must end (SPEC L5)",
				"session", s.id, "tokens", tokens, "late", late)
			s.w.cfg.OnOverrun(Overrun{Session: s.id, Tokens: tokens, Late: late})
		}
		select {
		case <-t.C:
		case <-changed:
		}
	}
}

// executingLocked returns the tokens whose guest code runs now.
func (s *session) executingLocked() []uint64 {
	var tokens []uint64
	for _, r := range s.begun {
		if r.phase == executing {
			tokens = append(tokens, r.token)
		}
	}
	slices.Sort(tokens)
	return tokens
}

// heldLocked returns the tokens of runs here, and of unanswered reports.
func (s *session) heldLocked() []uint64 {
	held := make([]uint64, 0, len(s.runs))
	for token := range s.runs {
		held = append(held, token)
	}
	slices.Sort(held)
	return held
}

// until waits for a condition over the session's state, and reports whether it came true before ctx ended.
func (s *session) until(ctx context.Context, cond func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changedLocked()
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// changedLocked returns the channel that announceLocked closes next.
func (s *session) changedLocked() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

func (s *session) announceLocked() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// enterLocked takes a run to its next phase.
func (s *session) enterLocked(r *run, next phase) {
	if r.phase == waiting && next != reporting {
		s.begun = append(s.begun, r)
	}
	if next == reporting {
		if s.begun = without(s.begun, r); s.busy[r.pace] > 1 {
			s.busy[r.pace]--
		} else {
			delete(s.busy, r.pace)
		}
	}
	r.phase = next
	s.announceLocked()
}

// without takes r out of a list whose order does not matter.
func without(list []*run, r *run) []*run {
	i, last := slices.Index(list, r), len(list)-1
	if i < 0 {
		return list
	}
	list[i], list[last] = list[last], nil
	return list[:last]
}

// nudge makes the sender look for something to send.
func (s *session) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
