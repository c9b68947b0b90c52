package watch

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// bed is a machine with a feed. The test says when events reach the feed, as over a subscription.
type bed struct {
	t    testing.TB
	feed *Feed

	mu      sync.RWMutex
	m       *task.Machine
	now     int64
	session uint64
	waiting []task.Event // events that are not ingested yet
	encoded int          // the number of calls of encode
}

const behavior = "b.one"

func newBed(t testing.TB, c Config) *bed {
	b := &bed{t: t, m: task.NewMachine(), now: 1_000_000}
	c.Local = b.local
	c.Encode = b.encode
	b.feed = NewFeed(c)
	t.Cleanup(b.feed.Close)
	for _, name := range []string{behavior, "b.two"} {
		b.must(task.Activate{
			Namespace: "default", Module: task.Module{Digest: "d-" + name, Size: 1, Version: "v-" + name},
			Behaviors: []task.Activated{{Name: name, Policy: task.DefaultPolicy()}},
		})
	}
	b.session = b.must(task.OpenSession{Worker: "w", Slots: 1 << 20, TTL: 1 << 40, Proof: []byte("p")}).Session.ID
	b.feed.Restart(b.m.Rev())
	b.waiting = nil
	return b
}

func (b *bed) local(f func(*task.Machine)) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	f(b.m)
}

// said is the JSON of the bed's events.
type said struct {
	Kind    Kind
	ID      string
	Rev     uint64
	Status  string
	Final   bool
	Text    string
	Attempt int64
}

func (b *bed) encode(c *Change) []byte {
	b.mu.Lock()
	b.encoded++
	b.mu.Unlock()
	s := said{Kind: c.Kind, Rev: c.Rev}
	if t := c.Task; t != nil {
		s.ID, s.Status, s.Final, s.Attempt = t.ID, t.Status.String(), t.Final(), t.Attempt
		s.Text = string(c.Progress.Data)
	}
	j, err := json.Marshal(s)
	if err != nil {
		b.t.Error(err)
	}
	return j
}

func (b *bed) apply(c task.Command) task.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += 10
	rs, evs := b.m.Apply(
		task.Header{Index: b.m.Index() + 1, Term: 1, Now: task.Time(b.now), LeaseNow: task.LeaseTime(b.now)},
		[]task.Proposal{{Command: c}},
	)
	b.waiting = append(b.waiting, evs...)
	return rs[0]
}

func (b *bed) must(c task.Command) task.Result {
	b.t.Helper()
	r := b.apply(c)
	if r.Code != task.OK {
		b.t.Fatalf("%T: %s %s", c, r.Code, r.Message)
	}
	return r
}

// flush ingests the events that wait.
func (b *bed) flush() {
	b.feed.Ingest(b.waiting)
	b.waiting = nil
}

func (b *bed) submit(id, behavior string) *task.Task {
	b.t.Helper()
	return b.must(task.Submit{Namespace: "default", ID: id, Behavior: behavior, Priority: 4}).Task
}

func (b *bed) get(id string) *task.Task {
	return b.m.Task(task.Key{Namespace: "default", ID: id})
}

func (b *bed) assign(id string) *task.Task {
	b.t.Helper()
	return b.must(task.Assign{Key: task.Key{Namespace: "default", ID: id}, Rev: b.get(id).Rev, Session: b.session}).Task
}

func (b *bed) progress(id, text string) {
	b.t.Helper()
	t := b.get(id)
	b.must(task.Beat{
		Key: t.Key(), Token: t.Lease.Token, Seq: t.Lease.Report + 1,
		Progress: &task.Payload{Encoding: task.JSON, Data: []byte(text)},
	})
}

func (b *bed) finish(id string) {
	b.t.Helper()
	t := b.get(id)
	b.must(task.Finish{Key: t.Key(), Token: t.Lease.Token, Seq: t.Lease.Report + 1})
}

func (b *bed) subscribe(f Filter, after uint64) *Sub {
	b.t.Helper()
	f.Namespace = "default"
	s, err := b.feed.Subscribe(f, after)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(s.Close)
	return s
}

// drain returns all that the subscriber gets now, in short form: kind, ID, status, and @ID of an event that has an ID.
func (b *bed) drain(s *Sub) []string {
	b.t.Helper()
	var all []string
	for {
		e, ok := s.Try()
		if !ok {
			return all
		}
		all = append(all, b.short(e))
	}
}

func (b *bed) short(e Event) string {
	var d said
	if err := json.Unmarshal(e.Data, &d); err != nil {
		b.t.Fatal(err)
	}
	name := map[Kind]string{Task: "task", Progress: "progress", Removed: "removed", Reset: "reset"}[e.Kind]
	switch e.Kind {
	case Reset:
	case Progress:
		name += " " + d.ID + " " + d.Text
	default:
		name += " " + d.ID + " " + d.Status
	}
	if e.ID != 0 {
		name += fmt.Sprintf(" @%d", e.ID)
	}
	return name
}
