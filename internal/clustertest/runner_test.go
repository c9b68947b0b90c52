package clustertest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
)

// runner lets a schedule happen to a cluster.
type runner struct {
	c *Cluster
	s *schedule

	procs map[string]*process // the nodes and separate workers
	mix   *mixed              // nil in TestSchedules

	disk sync.Mutex // held while a node has lost its disk, until it has everything again

	mu    sync.Mutex
	tasks map[string]*known
	trace []string
}

// process is a process that can be killed. mu is held while it is down or on its way. Faults that come meanwhile do
// nothing.
type process struct {
	mu     sync.Mutex
	worker *Worker // nil for a node
}

func (r *runner) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, fmt.Sprintf("%10.3fs %s", r.c.Boottime().Seconds(), fmt.Sprintf(format, args...)))
}

func (r *runner) errorf(format string, args ...any) {
	r.note("WRONG: "+format, args...)
	r.c.t.Errorf(format, args...)
}

func (r *runner) knows(id string, k *known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks[id] = k
}

func (r *runner) story() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.trace, "\n")
}

// name says which process "leader" is now. It returns "" if there is none.
func (r *runner) name(who string) string {
	if who == "leader" {
		i := r.c.leader(nil)
		if i < 0 {
			return "n1"
		}
		return r.c.Members[i].ID
	}
	if r.procs[who] == nil {
		return ""
	}
	return who
}

// isUp reports whether a process is up. The end of a partition must not connect a dying process again.
func (r *runner) isUp(name string) bool {
	p := r.procs[name]
	if p.worker != nil {
		if !p.mu.TryLock() {
			return false
		}
		p.mu.Unlock()
		return true
	}
	return r.c.Members[r.c.Index(name)].up() != nil
}

func (r *runner) isolate(who string, d time.Duration) {
	name := r.name(who)
	if name == "" {
		return
	}
	r.note("isolate %s", name)
	r.c.Net.Isolate(name)
	time.Sleep(d)
	if r.isUp(name) {
		r.c.Net.Rejoin(name)
		r.note("%s is back", name)
	}
}

func (r *runner) cut(a, b string, d time.Duration) {
	r.note("cut %s from %s", a, b)
	r.c.Net.Cut(a, b)
	time.Sleep(d)
	r.c.Net.Heal(a, b)
	r.note("heal %s and %s", a, b)
}

func (r *runner) cutOneWay(from, to string, d time.Duration) {
	r.note("cut from %s to %s", from, to)
	r.c.Net.CutOneWay(from, to)
	time.Sleep(d)
	r.c.Net.Heal(from, to)
	r.note("heal %s and %s", from, to)
}

func (r *runner) delay(a, b string, by, d time.Duration) {
	r.note("delay %s and %s by %v", a, b, by)
	r.c.Net.Delay(a, b, by)
	time.Sleep(d)
	r.c.Net.Delay(a, b, 0)
	r.note("no delay between %s and %s", a, b)
}

func (r *runner) lossy(seed uint64, oneIn int, d time.Duration) {
	r.note("lossy, 1 in %d", oneIn)
	r.c.Net.Lossy(seed, oneIn)
	time.Sleep(d)
	r.c.Net.Lossy(0, 0)
	r.note("not lossy")
}

func (r *runner) reset(a, b string) {
	r.note("reset %s and %s", a, b)
	r.c.Net.Reset(a, b)
}

// down takes a process down with f and starts it again after d. It does nothing if the process is down already.
func (r *runner) down(who, how string, d time.Duration, member func(i int), worker func(w *Worker)) {
	name := r.name(who)
	if name == "" {
		return
	}
	p := r.procs[name]
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	r.note("%s %s", how, name)
	defer r.note("%s has started", name)
	if p.worker != nil {
		worker(p.worker)
		time.Sleep(d)
		p.worker = r.c.AddWorker(name, 2)
		return
	}
	i := r.c.Index(name)
	member(i)
	time.Sleep(d)
	r.c.Start(i)
}

func (r *runner) kill(who string, d time.Duration) { r.down(who, "kill", d, r.c.Kill, (*Worker).Kill) }
func (r *runner) stop(who string, d time.Duration) { r.down(who, "stop", d, r.c.Stop, (*Worker).Stop) }

func (r *runner) killAll(d time.Duration) {
	var wg sync.WaitGroup
	for _, m := range r.c.Members {
		wg.Go(func() { r.kill(m.ID, d) })
	}
	wg.Wait()
}

func (r *runner) jump(who string, d time.Duration) {
	name := r.name(who)
	r.note("the clock of %s jumps by %v", name, d)
	r.c.Members[r.c.Index(name)].Clock.Jump(d)
}

func (r *runner) transfer() {
	i := r.c.leader(nil)
	if i < 0 {
		return
	}
	n := r.c.Members[i].up()
	if n == nil {
		return
	}
	ctx, cancel := r.c.Context(10 * time.Second)
	defer cancel()
	r.note("n%d hands over: %v", i+1, n.Store().Transfer(ctx)) // under faults the transfer may fail
}

// list returns all tasks, by ID.
func (r *runner) list() map[string]*api.Task {
	ctx, cancel := r.c.Context(patience)
	defer cancel()
	l, err := r.c.Node(r.c.Leader()).Tasks(ctx, api.ListRequest{Limit: api.MaxListLimit})
	if err != nil {
		r.c.t.Fatalf("list: %v", err)
	}
	tasks := map[string]*api.Task{}
	for _, t := range l.Tasks {
		tasks[t.ID] = t
	}
	return tasks
}

// run lets everything happen, heals, waits for quiet, and checks.
func (r *runner) run() {
	var wg sync.WaitGroup
	start := time.Now()
	for _, e := range r.s.events {
		time.Sleep(e.at - time.Since(start))
		wg.Go(func() { e.run(r) })
	}
	wg.Wait() // faults heal by themselves, and clients insist
	r.note("all is healed")
	r.c.Eventually("all tasks are final", func() bool {
		for _, t := range r.list() {
			if !t.Final {
				return false
			}
		}
		return true
	})
	before := r.list()
	time.Sleep(30 * time.Second)
	r.check(before, r.list())
}
