package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/task"
)

// puzzle is a cluster in which tasks wait for all sorts of reasons. A guest goes on until the test lets it go.
type puzzle struct {
	*Cluster
	rng    *rand.Rand
	mu     sync.Mutex
	hold   map[string]chan struct{}
	ids    []string
	paused map[string]bool
	slots  map[string]int     // of the workers that there are
	at     map[string]*Worker // those that are connected, by name
	said   map[string]int     // by code, of tasks that wait
}

func (p *puzzle) held(id string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold[id] == nil {
		p.hold[id] = make(chan struct{})
	}
	return p.hold[id]
}

func (p *puzzle) guest(ctx context.Context, j *Job) (string, error) {
	select {
	case <-p.held(j.Info.ID):
		return "1", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// settled is after the leader has had time for everything that it could do.
func (p *puzzle) settled() { p.Sleep(3 * time.Second) }

// TestWhySchedules compares what why says in random worlds with what then happens (SPEC Q4). When everything has settled, nothing that waits is said to be
// about to run. What holds a limit runs. And whoever takes away what is said first, again and again, sees the reason go, and at last the task run.
func TestWhySchedules(t *testing.T) {
	n := max(*schedules/4, 1)
	said := map[string]int{}
	for i := range uint64(n) {
		seed := *firstSeed + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			p := &puzzle{rng: rand.New(rand.NewPCG(seed, 4)), hold: map[string]chan struct{}{}, paused: map[string]bool{}, said: said}
			p.slots, p.at = map[string]int{"w1": 1, "w2": 2}, map[string]*Worker{}
			Run(t, 3, Options{NoWorkers: true, Guest: p.guest, SessionTTL: ttl}, func(_ *testing.T, c *Cluster) {
				p.Cluster = c
				p.play()
			})
		})
	}
	for _, code := range []string{
		insight.DueLater, insight.BehaviorPaused, insight.SpaceLimit, insight.BehaviorLimit, insight.KeyLimit, insight.SlotsTaken, insight.NoWorker,
		insight.NoAcceptor,
	} {
		if n >= 3 && said[code] == 0 {
			t.Errorf("%s was never said: %v", code, said)
		}
	}
}

// puzzleBehaviors are those of the puzzle. Nobody accepts tasks of the last.
var puzzleBehaviors = []string{"free.job", "few.job", "keyed.job", "strict.job", "far.job"}

func (p *puzzle) play() {
	wasm, _, err := Guest("echo")
	if err != nil {
		p.t.Fatal(err)
	}
	p.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"free.job"},{"name":"few.job","max_concurrent":1},
		{"name":"keyed.job","concurrency_key":"/k","max_per_key":1},{"name":"strict.job","concurrency_key":"/k","max_per_key":1,"key_order":"strict"}]}`))
	putExternal(p.t, p.Cluster, 0, "far.job", `{"kind":"external","lease":"10m"}`)
	p.connect("w1")
	p.connect("w2")
	p.WorkersReady(2)
	for range 12 {
		for range 1 + p.rng.IntN(4) {
			p.step()
		}
		p.settled()
		p.ask()
		if waits := p.waiting(); len(waits) > 0 {
			p.relieve(waits[p.rng.IntN(len(waits))])
		}
	}
	for _, name := range puzzleBehaviors {
		p.pause(name, false)
	}
	p.atMost(0)
	for name := range p.slots {
		p.connect(name)
	}
	for _, id := range p.ids { // so that the cluster is at rest when it is looked at as a whole
		select {
		case <-p.held(id):
		default:
			close(p.held(id))
		}
	}
}

func (p *puzzle) step() {
	worker := [...]string{"w1", "w2"}[p.rng.IntN(2)]
	switch p.rng.IntN(9) {
	case 0, 1, 2, 3:
		r := api.SubmitRequest{Behavior: puzzleBehaviors[p.rng.IntN(5)], ID: fmt.Sprintf("task-%d", len(p.ids)), Params: json.RawMessage(fmt.Sprintf(`{"k":"k%d"}`, p.rng.IntN(2)))}
		if p.rng.IntN(5) == 0 {
			r.Delay = new(api.Duration(time.Duration(1+p.rng.IntN(60)) * time.Second))
		}
		p.ids = append(p.ids, r.ID)
		p.SubmitRequest(p.rng.IntN(3), r)
	case 4:
		p.pause(puzzleBehaviors[p.rng.IntN(4)], p.rng.IntN(2) == 0)
	case 5:
		p.atMost(int64(p.rng.IntN(3)))
	case 6:
		if p.rng.IntN(2) == 0 {
			p.connect(worker)
		} else {
			p.disconnect(worker)
		}
	default:
		if runs := p.running(); len(runs) > 0 {
			p.release(runs[p.rng.IntN(len(runs))])
		}
	}
}

func (p *puzzle) pause(name string, paused bool) {
	if p.paused[name] == paused {
		return
	}
	p.paused[name] = paused
	if _, err := p.Node(0).PauseBehavior(p.t.Context(), "", name, paused); err != nil {
		p.t.Fatal(err)
	}
}

// connect starts a worker that is not there.
func (p *puzzle) connect(name string) {
	if p.at[name] == nil {
		p.at[name] = p.AddWorker(name, p.slots[name])
		p.settled()
	}
}

// disconnect stops a worker. What it runs waits then.
func (p *puzzle) disconnect(name string) {
	if p.at[name] != nil {
		p.at[name].Stop()
		p.at[name] = nil
	}
}

// accept takes the next task of the external behavior, and does it.
func (p *puzzle) accept() {
	ctx := p.t.Context()
	r, err := p.Node(0).Accept(ctx, api.AcceptRequest{Behavior: "far.job", Worker: "far", Max: 1})
	if err != nil || len(r.Tasks) != 1 {
		p.t.Fatalf("%+v, %v", r, err)
	}
	x := r.Tasks[0]
	if _, err := p.Node(1).Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Result: json.RawMessage("1")}); err != nil {
		p.t.Fatal(err)
	}
}

// atMost sets max_running; 0: none.
func (p *puzzle) atMost(n int64) {
	rs, err := p.Node(0).Store().Propose(p.t.Context(), task.PutNamespace{Name: task.DefaultNamespace, Share: &task.Share{MaxRunning: n}})
	if err != nil || rs[0].Code != task.OK {
		p.t.Fatal(err, rs)
	}
}

func (p *puzzle) release(id string) {
	select {
	case <-p.held(id):
	default:
		close(p.held(id))
	}
}

func (p *puzzle) get(id string) *api.Task {
	x, err := p.Node(0).Task(p.t.Context(), "", id, api.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return x
}

func (p *puzzle) with(is func(*api.Task) bool) (ids []string) {
	for _, id := range p.ids {
		if is(p.get(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *puzzle) running() []string {
	return p.with(func(x *api.Task) bool { return x.Status == "RUNNING" })
}

func (p *puzzle) waiting() []string {
	return p.with(func(x *api.Task) bool { return x.Status != "RUNNING" && !x.Final })
}

// why asks any node, and checks what can be checked at once.
func (p *puzzle) why(id string) *insight.WhyReply {
	p.t.Helper()
	r, err := p.Node(p.rng.IntN(3)).Insight().Why(p.t.Context(), "", id)
	if err != nil {
		p.t.Fatal(err)
	}
	x := p.get(id)
	if waits := x.Status != "RUNNING" && !x.Final; r.Waits != waits || len(r.Reasons) == 0 {
		p.t.Fatalf("%s is %s, final %v: %+v", id, x.Status, x.Final, r)
	}
	for _, reason := range r.Reasons {
		p.said[reason.Code]++
		switch reason.Code {
		case insight.Assigning, insight.Unknown, insight.NoLeader, insight.ModuleNotReady, insight.WorkerDrained:
			p.t.Fatalf("%s: %+v", id, r)
		case insight.NoWorker:
			if p.at["w1"] != nil || p.at["w2"] != nil {
				p.t.Fatalf("%s: there are workers: %+v", id, r)
			}
		case insight.NoAcceptor:
			if r.Behavior != "far.job" {
				p.t.Fatalf("%s: %+v", id, r)
			}
		case insight.BehaviorLimit, insight.SpaceLimit, insight.KeyLimit:
			if len(reason.By) == 0 {
				p.t.Fatalf("%s: nobody holds the limit: %+v", id, r)
			}
			for _, other := range reason.By {
				if x := p.get(other); x.Status != "RUNNING" && (reason.Code != insight.KeyLimit || x.Final) {
					p.t.Fatalf("%s: %s holds a limit and is %s: %+v", id, other, x.Status, r)
				}
			}
		}
	}
	return r
}

// ask asks why of all tasks.
func (p *puzzle) ask() {
	for _, id := range p.ids {
		p.why(id)
	}
}

// relieve takes away what is said first until the task runs.
func (p *puzzle) relieve(id string) {
	for range 100 {
		r := p.why(id)
		if !r.Waits {
			return
		}
		first := r.Reasons[0]
		switch first.Code {
		case insight.DueLater:
			p.Sleep(first.At.Sub(p.wall()))
		case insight.BehaviorPaused:
			p.pause(r.Behavior, false)
		case insight.SpaceLimit:
			p.atMost(0)
		case insight.BehaviorLimit, insight.KeyLimit:
			for _, other := range first.By {
				p.relieve(other) // a slot of a key may be meant for one that waits itself
				p.release(other)
			}
		case insight.NoWorker:
			p.connect("w1")
		case insight.NoAcceptor:
			p.accept()
		case insight.SlotsTaken, insight.Behind:
			for _, other := range p.running() {
				p.release(other)
			}
		default:
			p.t.Fatalf("%s: %+v", id, r)
		}
		p.settled()
		again, repeats := p.why(id), []string{insight.SlotsTaken, insight.Behind, insight.NoAcceptor}
		if again.Waits && again.Reasons[0].Code == first.Code && slices.Equal(again.Reasons[0].By, first.By) && !slices.Contains(repeats, first.Code) {
			p.t.Fatalf("%s: %s was taken away and is still there: %+v", id, first.Code, again)
		}
	}
	p.t.Fatalf("%s does not run, whatever is taken away: %+v", id, p.why(id))
}

// wall is the time of the log.
func (p *puzzle) wall() time.Time { return time.UnixMilli(int64(p.now())) }
