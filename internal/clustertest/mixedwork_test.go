package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/extworker"
	"github.com/taskrt/taskrt/node"
)

// externals are the external behaviors with their policies. Variants of the limits come and go with them.
var externals = map[string]string{
	"ext":    `{"kind":"external","lease":"3s","max_concurrent":%d,"retry":{"max_attempts":0,"max_interval":"3s"}}`,
	"key1":   `{"kind":"external","lease":"3s","concurrency_key":"/k","max_per_key":1,"max_concurrent":%d,"retry":{"max_attempts":0,"max_interval":"3s"}}`,
	"key3":   `{"kind":"external","lease":"3s","concurrency_key":"/k","max_per_key":%d,"max_concurrent":7,"retry":{"max_attempts":0,"max_interval":"3s"}}`,
	"strict": `{"kind":"external","lease":"3s","concurrency_key":"/k","max_per_key":1,"key_order":"strict","max_concurrent":%d,"retry":{"max_attempts":0,"max_interval":"3s"}}`,
	"again":  `{"kind":"external","lease":"3s","repeat_every":"3s","repeat_on":"any","max_concurrent":%d}`,
	"gone":   `{"kind":"external","lease":"3s","max_concurrent":%d}`,
}

var externalNames = []string{"ext", "key1", "key3", "strict", "again", "gone"}

// job is the params of an external task.
type job struct {
	Key   string `json:"k,omitempty"`
	MS    int    `json:"ms"`
	Chain int    `json:"chain,omitempty"` // how many tasks follow it; the finish of each submits the next
}

// plan says what becomes of an attempt, whoever runs it.
func plan(t *api.Task) string {
	h := fnv.New32a()
	fmt.Fprint(h, t.ID, t.Attempt)
	n := h.Sum32() % 100
	switch chained := t.Labels["chain"] != ""; {
	case n < 8 && t.Attempt <= 6:
		return "late"
	case n < 12 && t.Attempt <= 6:
		return "drop"
	case n < 25 && t.Attempt <= 8:
		return "fail"
	case n < 35 && t.Attempt <= 8:
		return "snooze"
	case n < 40 && t.Attempt <= 8:
		return "fail again"
	case n < 46 && t.Attempt <= 6 && !chained:
		return "ok again"
	case n < 49 && !chained:
		return "fatal"
	}
	return "ok"
}

// workers starts the workers, which run until all is done. Each behavior has some that make calls themselves, and one
// of package extworker.
func (m *mixed) workers() {
	rng := rand.New(rand.NewPCG(m.s.seed, 4))
	for _, b := range externalNames {
		for i := range 1 + rng.IntN(2) {
			w := rawWorker{m: m, behavior: b, name: fmt.Sprintf("raw-%s-%d", b, i), rng: rand.New(rand.NewPCG(rng.Uint64(), 1))}
			m.start(w.run)
		}
		m.loopWorker(b, rand.New(rand.NewPCG(rng.Uint64(), 2)))
	}
}

// loopWorker runs package extworker's loop.
func (m *mixed) loopWorker(behavior string, rng *rand.Rand) {
	w, err := extworker.New(extworker.Config{
		Client: &checkedClient{m: m, any: &anyNode{c: m.c, rng: rng}}, Behavior: behavior, Worker: "loop-" + behavior,
		Concurrency: 3, Wait: 10 * time.Second, Grace: time.Second, Handler: m.handle, Logger: slog.New(slog.NewTextHandler(m.c.log, nil)),
	})
	if err != nil {
		m.c.t.Fatal(err)
	}
	m.start(func() {
		for !closed(m.done) { // the loop ends by itself when the behavior is deleted
			ctx, cancel := context.WithCancel(m.c.t.Context())
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				select {
				case <-m.done:
					cancel()
				case <-ctx.Done():
				}
			}()
			err := w.Run(ctx)
			cancel()
			<-stop
			m.note("worker loop-%s ended: %v", behavior, err)
			time.Sleep(time.Second)
		}
	})
}

// handle runs an attempt in package extworker's loop.
func (m *mixed) handle(ctx context.Context, x *extworker.Task) (any, error) {
	var j job
	if err := x.Params(&j); err != nil {
		return nil, err
	}
	for ms := 0; ms < j.MS; ms += 500 {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := x.Progress(ms); err != nil {
			return nil, err
		}
	}
	if x.Labels["chain"] != "" && j.Chain > 0 {
		return nil, extworker.Snooze(time.Time{}) // package extworker knows no transactions
	}
	switch p := plan(x.Task); p {
	case "fail", "late", "drop":
		return nil, extworker.Code(errors.New(p), "flaky")
	case "fail again":
		return nil, extworker.RetryAt(extworker.Code(errors.New(p), "flaky"), time.Now().Add(time.Second))
	case "fatal":
		return nil, extworker.Code(extworker.Permanent(errors.New(p)), "fatal")
	case "snooze":
		return nil, extworker.Snooze(time.Time{})
	case "ok again":
		x.Again(time.Now().Add(2 * time.Second))
	}
	return x.Lease.Token, nil
}

// rawWorker makes its calls itself. It behaves badly in every way that a program may.
type rawWorker struct {
	m              *mixed
	behavior, name string
	rng            *rand.Rand
	n              int
}

func (w *rawWorker) run() {
	for !closed(w.m.done) {
		var wg sync.WaitGroup
		for _, t := range w.accept() {
			seed := w.rng.Uint64()
			wg.Go(func() {
				a := attempt{m: w.m, t: t, rng: rand.New(rand.NewPCG(seed, 5))}
				a.run()
			})
		}
		wg.Wait()
	}
}

// accept asks one node for some tasks. It waits or not, hangs up, asks twice, or does not take the answer.
func (w *rawWorker) accept() []*api.Task {
	w.n++
	wait := time.Duration(w.rng.IntN(10_000)) * time.Millisecond
	q := api.AcceptRequest{Behavior: w.behavior, Worker: w.name, Max: 1 + w.rng.IntN(4), Wait: new(api.Duration(wait))}
	way, patience := w.rng.IntN(8), wait+20*time.Second
	i := w.rng.IntN(nodes)
	n := w.m.c.Members[i].up()
	switch way {
	case 0, 1:
		q.RequestID = fmt.Sprintf("%s-%d", w.name, w.n)
	case 2:
		q.MaxNotBefore = &api.Time{Time: time.Now().Add(5 * time.Second)}
	case 3:
		patience = time.Duration(w.rng.Int64N(int64(wait + 1)))
	}
	if n == nil {
		time.Sleep(100 * time.Millisecond)
		return nil
	}
	ctx, cancel := context.WithTimeout(w.m.c.t.Context(), patience+1)
	defer cancel()
	reply, err := w.m.accept(ctx, n, q)
	if err != nil {
		w.m.note("%s accepts at n%d, way %d: %v", w.name, i+1, way, err)
		w.m.mayFail("accept", err, api.CodeBehaviorNotFound, api.CodeNotReady, api.CodeNoLeader, api.CodeOutcomeUnknown)
		time.Sleep(time.Duration(w.rng.IntN(1000)) * time.Millisecond)
		if way != 0 {
			return nil
		}
		return w.again(q)
	}
	switch {
	case way == 0 && w.rng.IntN(2) == 0: // as if the answer were lost
		w.m.note("%s lost the answer of %s: %d tasks", w.name, q.RequestID, len(reply.Tasks))
		return w.again(q)
	case way == 4 && reply.Undelivered != nil && len(reply.Tasks) > 0:
		w.m.note("%s was not there for %s", w.name, reply.Tasks[0].ID)
		reply.Undelivered()
		w.m.count("undelivered")
		return nil
	}
	return reply.Tasks
}

// again repeats an accept whose answer did not arrive.
func (w *rawWorker) again(q api.AcceptRequest) []*api.Task {
	n := w.m.c.Members[w.rng.IntN(nodes)].up()
	if n == nil {
		return nil
	}
	ctx, cancel := w.m.c.Context(30 * time.Second)
	defer cancel()
	reply, err := w.m.accept(ctx, n, q)
	if err != nil {
		w.m.mayFail("accept again", err, api.CodeBehaviorNotFound, api.CodeNotReady, api.CodeNoLeader, api.CodeOutcomeUnknown)
		return nil
	}
	return reply.Tasks
}

// attempt is one lease in the hands of a rawWorker.
type attempt struct {
	m   *mixed
	t   *api.Task
	rng *rand.Rand
}

func (a *attempt) run() {
	var j job
	if err := json.Unmarshal(a.t.Params, &j); err != nil {
		a.m.errorf("params of %s: %v", a.t.ID, err)
		return
	}
	p := plan(a.t)
	a.m.count(p)
	switch p {
	case "drop":
		return
	case "late":
		time.Sleep(time.Duration(2500+a.rng.IntN(8000)) * time.Millisecond)
		p = "ok"
	default:
		if !a.work(time.Duration(j.MS) * time.Millisecond) {
			return
		}
	}
	if p == "snooze" {
		a.snooze()
		return
	}
	f := api.FinishRequest{ID: a.t.ID, Token: a.t.Lease.Token}
	switch p {
	case "fail", "fail again":
		f.Error = &api.ReportError{Code: "flaky", Message: "x"}
	case "fatal":
		f.Error = &api.ReportError{Code: "fatal", Retryable: new(false)}
	default:
		f.Result = fmt.Append(nil, a.t.Lease.Token)
	}
	if p == "fail again" || p == "ok again" {
		f.AgainAt = &api.Time{Time: time.Now().Add(time.Duration(a.rng.IntN(3000)) * time.Millisecond)}
	}
	switch {
	case a.t.Labels["chain"] != "" && f.Error == nil:
		a.m.finishChain(a.rng, a.t, &j, f)
	default:
		a.finish(f)
	}
}

// work renews the lease until the work is done. It returns false if the lease is gone or the task is being cancelled.
func (a *attempt) work(d time.Duration) bool {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if left <= 0 {
			return true
		}
		time.Sleep(min(left, time.Second))
		q := api.HeartbeatRequest{ID: a.t.ID, Token: a.t.Lease.Token}
		if a.rng.IntN(2) == 0 {
			q.Progress = fmt.Append(nil, time.Until(end).Milliseconds())
		}
		if a.rng.IntN(5) == 0 {
			q.Extend = new(api.Duration(time.Duration(1+a.rng.IntN(5)) * time.Second))
		}
		var reply *api.HeartbeatReply
		_, err := a.m.call(a.rng, fmt.Sprintf("heartbeat %s %d", a.t.ID, a.t.Lease.Token), func(ctx context.Context, n *node.Node) (err error) {
			reply, err = a.m.heartbeat(ctx, n, q)
			return err
		})
		if err != nil {
			a.m.mayFail("heartbeat "+a.t.ID, err, api.CodeHalt)
			return false
		}
		if reply.Cancel {
			return a.rng.IntN(2) == 0 // or it leaves the task to the end of the grace
		}
	}
}

// finish sends a report alone, or in a list with a wrong report.
func (a *attempt) finish(f api.FinishRequest) {
	what := fmt.Sprintf("finish %s %d %v", f.ID, f.Token, f.Error == nil)
	many := a.rng.IntN(4) == 0
	_, err := a.m.call(a.rng, what, func(ctx context.Context, n *node.Node) error {
		if !many {
			_, err := a.m.finish(ctx, n, f)
			return err
		}
		before := a.m.state(f.ID, f.Token)
		out, err := n.FinishMany(ctx, []api.FinishRequest{{ID: "no-such-task", Token: f.Token}, f})
		if err != nil {
			return err
		}
		if out[0].Error == nil {
			a.m.errorf("a report of a task that is not there was taken")
		}
		if e := out[1].Error; e != nil {
			a.m.reported(f.ID, f.Token, before, "", 0, e)
			return e
		}
		a.m.finished(f, before, out[1].FinishReply)
		return nil
	})
	a.m.mayFail(what, err, api.CodeHalt)
}

func (a *attempt) snooze() {
	q := api.SnoozeRequest{ID: a.t.ID, Token: a.t.Lease.Token, Checkpoint: fmt.Appendf(nil, `{"at":%d}`, a.t.Attempt)}
	if a.rng.IntN(2) == 0 {
		q.AgainAt = &api.Time{Time: time.Now().Add(time.Duration(a.rng.IntN(3000)) * time.Millisecond)}
	}
	what := fmt.Sprintf("snooze %s %d", q.ID, q.Token)
	_, err := a.m.call(a.rng, what, func(ctx context.Context, n *node.Node) error {
		_, err := a.m.snooze(ctx, n, q)
		return err
	})
	a.m.mayFail(what, err, api.CodeHalt) // after a lost answer, too: the token is dead
}
