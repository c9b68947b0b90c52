package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/worker/stream"
)

// An assignment takes a commit and a way to the worker. For these milliseconds a slot stands idle. If attempts take less time than an assignment, the
// worker takes more assignments than it has slots, so that the next one is here when a slot becomes free. Such an assignment holds a lease, and
// another worker could run its task. So the worker takes only as many as it finishes within a few milliseconds, and only of behaviors that were short
// again and again. It gives back assignments that still wait for too long.
const (
	// LeasesPerSlot bounds the leases of a session: those that execute, wait for a slot, or whose report has no answer yet.
	LeasesPerSlot = 256
	// maxAhead bounds the assignments that wait for each slot.
	maxAhead = 64
	// aheadTime is how long all assignments that wait for a slot may take, together with the one that executes in it.
	aheadTime = 8 * time.Millisecond
	// aheadPatience is how long an assignment waits for a slot before it is given back.
	aheadPatience = 100 * time.Millisecond
	// shortTime is the time that no attempt of a short behavior may reach.
	shortTime = aheadPatience / 2
	// shortStreak is how many attempts in a row must have taken less than shortTime before a behavior counts as short.
	shortStreak = 32
	// paceMemory is over about how many attempts a mean is taken.
	paceMemory = 8
)

// pace knows how long attempts take here.
type pace struct {
	mu        sync.Mutex
	mean      time.Duration // of the attempts of short behaviors; exponential; 0: none has ended yet
	behaviors map[stream.Behavior]*behaviorPace
	changes   uint64 // how often a behavior has become short, or has ceased to be short
}

// behaviorPace says how long attempts of one version of one behavior take.
type behaviorPace struct {
	short  atomic.Bool
	streak int // attempts since the last one that took shortTime
	mean   time.Duration
}

// of returns what is known about a behavior. There are as many of these values as behaviors that this process has run.
func (p *pace) of(b stream.Behavior) *behaviorPace {
	p.mu.Lock()
	defer p.mu.Unlock()
	bp := p.behaviors[b]
	if bp == nil {
		if p.behaviors == nil {
			p.behaviors = map[stream.Behavior]*behaviorPace{}
		}
		bp = &behaviorPace{}
		p.behaviors[b] = bp
	}
	return bp
}

// note takes in an attempt.
func (p *pace) note(b *behaviorPace, took time.Duration) {
	took = max(took, time.Microsecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	b.mean = meanWith(b.mean, took)
	b.streak++
	if took >= shortTime {
		b.streak = 0
	}
	// A behavior ceases to be short only at twice the time that made it short, so that it does not change all the time at the border.
	limit := aheadTime / 2
	if b.short.Load() {
		limit = aheadTime
	}
	if short := b.streak >= shortStreak && b.mean <= limit; short != b.short.Load() {
		b.short.Store(short)
		p.changes++
	}
	if b.short.Load() {
		p.mean = meanWith(p.mean, took)
	}
}

func meanWith(mean, took time.Duration) time.Duration {
	if mean == 0 {
		return took
	}
	return mean + (took-mean)/paceMemory
}

// each returns how many assignments may wait for a slot.
func (p *pace) each() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		return 0
	}
	return int(min(aheadTime/p.mean, maxAhead))
}

// toldPace is what the leader knows of the pace.
type toldPace struct {
	changes uint64
	short   map[stream.Behavior]bool
}

// news returns what has changed since the leader was told, and counts it as told.
func (p *pace) news(told *toldPace) (news []stream.Pace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if told.changes == p.changes {
		return nil
	}
	if told.short == nil {
		told.short = map[stream.Behavior]bool{}
	}
	told.changes = p.changes
	for b, bp := range p.behaviors {
		if short := bp.short.Load(); short != told.short[b] {
			news = append(news, stream.Pace{Behavior: b, Short: short})
			told.short[b] = short
		}
	}
	return news
}

// creditsLocked says for how many more assignments there is a slot, and how many assignments of short behaviors may wait for
// a slot. A run whose guest has ended holds no slot, although its report may wait.
func (s *session) creditsLocked(now time.Duration) stream.Credits {
	c := stream.Credits{Seq: s.acked}
	if s.w.takesNothing() {
		return c
	}
	if s.w.cfg.Alone {
		c.Free = 1
		return c
	}
	slots, each := int64(s.w.cfg.Slots), int64(s.w.pace.each())
	var busy, stuck int64 // slots that are taken or waited for; slots that nothing should wait for
	for pace, n := range s.busy {
		if busy += int64(n); !pace.short.Load() {
			stuck += int64(n)
		}
	}
	for _, r := range s.begun {
		if r.pace.short.Load() && now-r.began >= shortTime {
			stuck++
		}
	}
	c.Free = max(0, slots-busy)
	c.Ahead = max(0, max(0, slots-stuck)*each-max(0, busy-slots))
	c.Each = each
	return c
}
