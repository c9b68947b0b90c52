package watch

import (
	"time"

	"github.com/taskrt/taskrt/task"
)

// progressEvery is the shortest time between two tellings of one task's progress (SPEC W3).
const progressEvery = 250 * time.Millisecond

// maxBeats bounds the tasks whose progress is told at one time. The progress of further tasks waits for their next
// renewals.
const maxBeats = 65_536

// beats thins out progress. The first progress of a task is told at once. The latest of the next 250 ms is told when
// these are over. What is told stands in the ring as every change does. A subscriber that comes to it late skips
// progress that a later one has replaced.
type beats struct {
	tasks map[task.Key]*beat
	queue []*beat // by the ends of their pauses
	timer *time.Timer
}

// beat is the pause after a task's progress was told.
type beat struct {
	key     task.Key
	token   uint64
	told    task.Payload
	attempt int64        // the attempt whose progress was told
	waiting *task.Task   // the record of the latest progress since then; nil: there was none
	latest  task.Payload // that progress
	ends    time.Time
}

func newBeats() beats { return beats{tasks: map[task.Key]*beat{}} }

func (b *beats) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// changed drops the progress that waits of an attempt that is over: progress never comes after the attempt's end.
func (b *beats) changed(t *task.Task) {
	if x := b.tasks[t.Key()]; x != nil && (t.Lease == nil || t.Lease.Token != x.token) {
		x.waiting = nil
	}
}

func (b *beats) removed(k task.Key) {
	if x := b.tasks[k]; x != nil {
		x.waiting = nil
	}
}

// Live is progress on its way to the log: a worker's latest, told before the renewal that stores it.
type Live struct {
	Key      task.Key     `json:"key"`
	Session  uint64       `json:"session"`
	Token    uint64       `json:"token"`
	Progress task.Payload `json:"progress"`
}

// Live tells progress that is not in the log. Progress without a current lease is dropped.
func (f *Feed) Live(ls []Live) {
	if on, _ := f.Wanted(); !on {
		return
	}
	records := make([]*task.Task, len(ls))
	f.config.Local(func(m *task.Machine) {
		for i := range ls {
			t := m.Task(ls[i].Key)
			if t != nil && t.Lease != nil && t.Lease.Token == ls[i].Token && t.Lease.Session == ls[i].Session {
				records[i] = t
			}
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	var wake []*Sub
	for i, t := range records {
		if t != nil && f.beat(t, ls[i].Progress) {
			wake = f.add(Change{Kind: Progress, Rev: f.ring.top, Task: t, Progress: ls[i].Progress}, mark{}, wake)
		}
	}
	nudge(wake)
}

// stored takes in a change in which only the progress is new.
func (f *Feed) stored(e *task.Event, wake []*Sub) []*Sub {
	told := f.beat(e.Task, e.Task.Progress)
	return f.add(Change{Kind: Progress, Rev: e.Rev, Task: e.Task, Progress: e.Task.Progress}, mark{stored: true, quiet: !told}, wake)
}

// beat notes the latest progress of a running task. It returns true if the progress is to be told now.
func (f *Feed) beat(t *task.Task, p task.Payload) bool {
	b := &f.beats
	if len(f.subs) == 0 || f.isClosed() {
		return false
	}
	if x := b.tasks[t.Key()]; x != nil {
		x.token, x.waiting, x.latest = t.Lease.Token, t, p
		return false
	}
	if len(b.tasks) >= maxBeats {
		return false
	}
	x := &beat{key: t.Key(), token: t.Lease.Token}
	b.tasks[x.key] = x
	f.pause(x, t, p)
	return true
}

// pause begins the pause after p, which is being told.
func (f *Feed) pause(x *beat, t *task.Task, p task.Payload) {
	x.told, x.attempt, x.waiting, x.ends = p, t.Attempt, nil, time.Now().Add(progressEvery)
	b := &f.beats
	b.queue = append(b.queue, x)
	if len(b.queue) == 1 {
		f.arm()
	}
}

func (f *Feed) arm() {
	left := max(time.Until(f.beats.queue[0].ends), 0)
	if f.beats.timer == nil {
		f.beats.timer = time.AfterFunc(left, f.pausesEnd)
		return
	}
	f.beats.timer.Reset(left)
}

// pausesEnd tells the progress that came during the pauses that are over.
func (f *Feed) pausesEnd() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed() {
		return
	}
	b := &f.beats
	var wake []*Sub
	for now := time.Now(); len(b.queue) > 0 && !b.queue[0].ends.After(now); {
		x := b.queue[0]
		b.queue[0] = nil
		b.queue = b.queue[1:]
		t, p := x.waiting, x.latest
		if t == nil || p.Equal(x.told) && t.Attempt == x.attempt {
			delete(b.tasks, x.key)
			continue
		}
		f.pause(x, t, p)
		wake = f.add(Change{Kind: Progress, Rev: f.ring.top, Task: t, Progress: p}, mark{}, wake)
	}
	if len(b.queue) > 0 {
		f.arm()
	}
	nudge(wake)
}
