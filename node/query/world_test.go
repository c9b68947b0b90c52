package query_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
)

// feed is a subscription to a world.
type feed struct {
	world   *world
	c       chan []task.Event
	waiting chan struct{}
	lagged  bool
}

func (f *feed) Events() <-chan []task.Event { return f.c }
func (f *feed) Waiting() <-chan struct{}    { return f.waiting }
func (f *feed) Close()                      {}

func (f *feed) Lagged() bool {
	f.world.mu.RLock()
	defer f.world.mu.RUnlock()
	return f.lagged
}

// world is a machine with an index beside it, as a store has it.
type world struct {
	mu    sync.RWMutex
	m     *task.Machine
	head  task.Header
	feed  *feed
	index *query.Index

	rand    *rand.Rand
	created int
}

var behaviors = []string{"mail.send", "mail.sort", "img.resize"}

func newWorld(t testing.TB, seed uint64, slots int) *world {
	w := &world{m: task.NewMachine(), head: task.Header{Term: 1, Now: 1_700_000_000_000, LeaseNow: 1}, rand: rand.New(rand.NewPCG(seed, 1))}
	for i, name := range behaviors {
		p := task.DefaultPolicy()
		p.Retry = task.Retry{MaxAttempts: int64(i + 1), InitialInterval: 1, MultiplierThousandth: 1000, MaxInterval: 1000}
		w.apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: name, Version: fmt.Sprint("v", i), Policy: p})
	}
	w.index = query.New(query.Config{Subscribe: w.subscribe, Local: w.local, Slots: slots})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.index.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func (w *world) subscribe() query.Subscription {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feed = &feed{world: w, c: make(chan []task.Event, 64), waiting: make(chan struct{}, 1)}
	return w.feed
}

// cut ends the subscription as a store does with one that lags.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *world) end() {
	if w.feed != nil {
		w.feed.lagged = true
		close(w.feed.c)
		w.feed.wake()
		w.feed = nil
	}
}

func (f *feed) wake() {
	select {
	case f.waiting <- struct{}{}:
	default:
	}
}

func (w *world) local(fn func(*task.Machine)) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	fn(w.m)
}

func (w *world) apply(commands ...task.Command) []task.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head.Index++
	w.head.Now++
	w.head.LeaseNow++
	ps := make([]task.Proposal, len(commands))
	for i, c := range commands {
		ps[i].Command = c
	}
	results, events := w.m.Apply(w.head, ps)
	if w.feed != nil && len(events) > 0 {
		select {
		case w.feed.c <- events:
			if len(w.feed.c) > 32 {
				w.feed.wake()
			}
		default:
			w.end()
		}
	}
	return results
}

// key names a task: mostly one of the last, so that tasks come far in their lives.
func (w *world) key() task.Key {
	i := w.rand.IntN(w.created + 1)
	if w.rand.IntN(4) > 0 {
		i = max(w.created-1-w.rand.IntN(30), 0)
	}
	return task.Key{Namespace: task.DefaultNamespace, ID: w.id(i)}
}

func (w *world) id(i int) string { return fmt.Sprintf("t-%02x-%d", i*37%256, i) }

func (w *world) submit() task.Submit {
	c := task.Submit{
		Namespace: task.DefaultNamespace, ID: w.id(w.created), Behavior: behaviors[w.rand.IntN(len(behaviors))], Priority: 4,
		Labels: []task.Label{{Name: "a", Value: fmt.Sprint(w.rand.IntN(3))}, {Name: "b", Value: fmt.Sprint(w.rand.IntN(200))}},
	}
	w.created++
	if w.rand.IntN(4) == 0 {
		c.Delay = task.Millis(w.rand.IntN(1000))
	}
	if w.rand.IntN(4) == 0 {
		c.Parent = w.id(w.rand.IntN(w.created))
	}
	return c
}

// step changes something at random.
func (w *world) step() {
	key := w.key()
	var t *task.Task
	w.local(func(m *task.Machine) { t = m.Task(key) })
	switch n := w.rand.IntN(20); {
	case n < 2 || t == nil:
		cs := make([]task.Command, 1+w.rand.IntN(8))
		for i := range cs {
			cs[i] = w.submit()
		}
		w.apply(cs...)
	case n == 6:
		w.apply(task.Cancel{Key: key})
	case n == 7:
		w.apply(task.Remove{Key: key})
	case n == 8 || t.Final():
		w.apply(task.RetryTask{Key: key})
	case n == 9:
		c := w.submit()
		c.ID, c.Behavior, c.Parent, c.IfExists, c.HasLabels = t.ID, t.Behavior, "", task.Resubmit, true
		w.apply(c)
	case n == 10:
		w.apply(task.Tick{})
	case t.Status == task.Running:
		f := task.Finish{Key: key, Token: t.Lease.Token, External: true}
		if w.rand.IntN(2) == 0 {
			f.Error = &task.Error{Code: fmt.Sprint("E", w.rand.IntN(4)), Retryable: w.rand.IntN(2) == 0}
		}
		w.apply(f)
	default:
		w.apply(task.Assign{Key: key, Rev: t.Rev, External: &task.Acceptor{Worker: fmt.Sprint("w", w.rand.IntN(4)), Lease: 1 << 20}})
	}
}

// storm removes most tasks of a part of the world.
func (w *world) storm() {
	from := w.rand.IntN(w.created + 1)
	var removes []task.Command
	for i := from; i < min(w.created, from+500); i++ {
		if w.rand.IntN(4) > 0 {
			removes = append(removes, task.Remove{Key: task.Key{Namespace: task.DefaultNamespace, ID: w.id(i)}})
		}
	}
	w.apply(removes...)
}
