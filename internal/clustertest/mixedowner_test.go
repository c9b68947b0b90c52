package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// owned is what the owner of a task of a mixed schedule may rely on.
type owned struct {
	wasm     bool
	params   []string // all params that were ever asked for
	deadline bool     // the task has a deadline
	cancels  int      // how many were asked for, acknowledged or not

	accepted atomic.Bool // a submit was acknowledged
	removed  atomic.Bool // a remove was acknowledged
	vanishes atomic.Bool // the task may be gone: a remove was asked for, or others may remove it
}

// own returns what is known of a task. This may be nothing yet.
func (m *mixed) own(id string) *owned {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owned[id] == nil {
		m.owned[id] = &owned{}
	}
	return m.owned[id]
}

// owner draws the life of one task: a submit, the owner's calls, and those who wait for it.
func (g *generator) owner() {
	g.tasks++
	p := ownerProgram{id: fmt.Sprintf("task-%02d", g.tasks), seed: g.rng.Uint64()}
	p.behavior = g.pick("ext", "ext", "key1", "key1", "key3", "key3", "strict", "strict", "again", "gone", "wait", "wait")
	p.key = g.pick("a", "a", "b", "")
	p.ms = g.rng.IntN(4000)
	if g.rng.IntN(3) == 0 {
		p.delay = g.between(0, 15*time.Second)
	}
	if g.rng.IntN(3) == 0 {
		p.priority = new(g.rng.IntN(10))
	}
	if g.rng.IntN(12) == 0 {
		p.deadline = g.between(time.Second, 40*time.Second)
	}
	for range g.rng.IntN(4) {
		what := g.pick("cancel", "remove", "rerun", "resubmit", "resubmit", "resubmit params", "retry", "retry", "retry active", "retry other", "update", "update", "await")
		p.acts = append(p.acts, act{g.between(0, 15*time.Second), what})
	}
	for range g.rng.IntN(3) {
		p.waits = append(p.waits, g.pick("final", "running", "waiting", "success", "failure", "outcome", "attempt:2", "rev", "many"))
	}
	g.add(p.run, "%v", p)
}

// ownerProgram is the life of one task.
type ownerProgram struct {
	id, behavior, key string
	ms                int
	delay, deadline   time.Duration
	priority          *int
	seed              uint64
	acts              []act
	waits             []string
}

func (p ownerProgram) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "submit %s %s(%s)", p.id, p.behavior, p.params(p.ms))
	if p.delay > 0 {
		fmt.Fprintf(&b, " delay %v", p.delay)
	}
	if p.deadline > 0 {
		fmt.Fprintf(&b, " deadline %v", p.deadline)
	}
	for _, s := range p.acts {
		fmt.Fprintf(&b, ", %v later %s", s.after, s.what)
	}
	if len(p.waits) > 0 {
		fmt.Fprintf(&b, "; waits: %v", p.waits)
	}
	return b.String()
}

func (p ownerProgram) params(ms int) string {
	if p.behavior == "wait" {
		return fmt.Sprint(ms)
	}
	b, err := json.Marshal(job{Key: p.key, MS: ms})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (p ownerProgram) request() api.SubmitRequest {
	r := api.SubmitRequest{ID: p.id, Behavior: p.behavior, Params: []byte(p.params(p.ms)), Priority: p.priority}
	if p.delay > 0 {
		r.Delay = new(api.Duration(p.delay))
	}
	return r
}

func (p ownerProgram) run(r *runner) {
	m, rng := r.mix, rand.New(rand.NewPCG(p.seed, 3))
	o := m.own(p.id)
	o.wasm = p.behavior == "wait"
	o.vanishes.Store(p.behavior == "gone")
	o.params = append(o.params, p.params(p.ms))
	q := p.request()
	if p.deadline > 0 {
		o.deadline = true
		q.Deadline = &api.Time{Time: time.Now().Add(p.deadline)}
	}
	if !m.submits(rng, q) {
		return
	}
	o.accepted.Store(true)
	for _, until := range p.waits {
		w := wait{m: m, id: p.id, until: until, rng: rand.New(rand.NewPCG(rng.Uint64(), 6))}
		m.start(w.run)
	}
	for _, s := range p.acts {
		time.Sleep(s.after)
		if !p.act(m, rng, o, s.what) {
			return
		}
	}
}

// submits submits until the task is there. It returns false if the task's behavior stays away.
func (m *mixed) submits(rng *rand.Rand, q api.SubmitRequest) bool {
	for range 600 {
		var reply *api.SubmitReply
		err := m.callOnce(rng, "submit "+q.ID, func(ctx context.Context, n *node.Node) (err error) {
			reply, err = n.Submit(ctx, q)
			return err
		})
		switch {
		case err == nil:
			if reply.Outcome != "created" {
				m.errorf("submit %s: outcome %s (SPEC H4)", q.ID, reply.Outcome)
			}
			return true
		case api.CodeOf(err) != api.CodeBehaviorNotFound:
			m.mayFail("submit "+q.ID, err)
			return false
		case q.Behavior == "gone":
			return false
		}
		time.Sleep(time.Second)
	}
	m.errorf("submit %s: the behavior %s does not come back", q.ID, q.Behavior)
	return false
}

// act does one thing with a task in any state, and reports whether the task is still there.
func (p ownerProgram) act(m *mixed, rng *rand.Rand, o *owned, what string) bool {
	codes := []string{}
	if o.vanishes.Load() {
		codes = append(codes, api.CodeTaskNotFound, api.CodeBehaviorNotFound)
	}
	name := what + " " + p.id
	do := func(f func(ctx context.Context, n *node.Node) error, more ...string) (unsure int, err error) {
		unsure, err = m.call(rng, name, f)
		m.mayFail(name, err, append(codes, more...)...)
		return unsure, err
	}
	switch what {
	case "await":
		p.await(m, rng, codes)
	case "cancel":
		o.cancels++
		_, _ = do(func(ctx context.Context, n *node.Node) error { _, err := n.Cancel(ctx, "", p.id); return err }, "not_cancellable")
	case "remove":
		o.vanishes.Store(true)
		unsure, err := m.call(rng, name, func(ctx context.Context, n *node.Node) error { return n.Remove(ctx, "", p.id) })
		if unsure > 0 {
			codes = append(codes, api.CodeTaskNotFound)
		}
		m.mayFail(name, err, codes...)
		o.removed.Store(true)
		return false
	case "rerun":
		q := p.request()
		q.IfExists, q.Delay = what, nil
		_, _ = do(func(ctx context.Context, n *node.Node) error { _, err := n.Submit(ctx, q); return err }, api.CodeBehaviorNotFound)
	case "resubmit", "resubmit params":
		q := api.ResubmitRequest{ID: p.id}
		if rng.IntN(2) == 0 {
			q.Delay = new(api.Duration(time.Duration(rng.IntN(5000)) * time.Millisecond))
		}
		if what == "resubmit params" {
			text := p.params(rng.IntN(3000))
			o.params = append(o.params, text)
			q.Params = []byte(text)
		}
		_, _ = do(func(ctx context.Context, n *node.Node) error { _, err := n.Resubmit(ctx, q); return err }, "cancelling", api.CodeBehaviorNotFound)
	case "retry", "retry active", "retry other":
		p.retry(m, rng, what, codes)
	case "update":
		u := api.TxnUpdate{ID: p.id, Priority: new(rng.IntN(10)), Labels: map[string]string{"by": "update"}}
		q := api.TxnRequest{Update: []api.TxnUpdate{u}}
		_, _ = do(func(ctx context.Context, n *node.Node) error { _, err := n.Txn(ctx, q); return err }, api.CodeConflict)
	}
	return true
}

// retry retries by hand, perhaps with another version (SPEC B2).
func (p ownerProgram) retry(m *mixed, rng *rand.Rand, what string, codes []string) {
	q := api.RetryRequest{ID: p.id, KeepCheckpoint: rng.IntN(2) == 0}
	switch what {
	case "retry active":
		q.Version = "active"
	case "retry other":
		_, err := m.call(rng, "look at "+p.behavior, func(ctx context.Context, n *node.Node) error {
			b, err := n.Behavior(ctx, "", p.behavior)
			if err == nil {
				q.Version = b.Versions[rng.IntN(len(b.Versions))].Version
			}
			return err
		})
		m.mayFail("look at "+p.behavior, err, api.CodeBehaviorNotFound)
	}
	if rng.IntN(2) == 0 {
		q.Delay = new(api.Duration(time.Duration(rng.IntN(3000)) * time.Millisecond))
	}
	_, err := m.call(rng, what+" "+p.id, func(ctx context.Context, n *node.Node) error { _, err := n.Retry(ctx, q); return err })
	if err == nil {
		m.count("retried by hand")
	}
	m.mayFail(what+" "+p.id, err, append(codes, "not_final", api.CodeVersionNotFound)...)
}

// await waits until the task is final, unless it never will be.
func (p ownerProgram) await(m *mixed, rng *rand.Rand, codes []string) {
	if p.behavior == "again" || p.behavior == "gone" {
		return
	}
	for {
		var got *api.Task
		_, err := m.call(rng, "await "+p.id, func(ctx context.Context, n *node.Node) (err error) {
			got, err = n.Task(ctx, "", p.id, api.GetOptions{Wait: 20 * time.Second})
			return err
		})
		m.mayFail("await "+p.id, err, codes...)
		if err != nil || got.Final {
			return
		}
	}
}

// keyedSubmit is one submit without an ID. Several clients send it under one idempotency key, and again later. It makes
// one task (SPEC H4).
type keyedSubmit struct {
	label   string
	senders int
	seed    uint64
}

func (k keyedSubmit) run(r *runner) {
	m := r.mix
	once := api.Once{Key: k.seed | 1, Body: k.seed/3 | 1}
	q := api.SubmitRequest{Behavior: "ext", Params: []byte(`{"ms":500}`), Labels: map[string]string{"once": k.label}}
	ids := make(chan string, k.senders+1)
	send := func(rng *rand.Rand) {
		var reply *api.SubmitReply
		_, err := m.call(rng, "keyed submit "+k.label, func(ctx context.Context, n *node.Node) (err error) {
			reply, err = n.Submit(api.WithOnce(ctx, once), q)
			return err
		})
		if err != nil {
			m.mayFail("keyed submit", err, api.CodeBehaviorNotFound)
			ids <- ""
			return
		}
		if reply.Outcome != "created" {
			m.errorf("%s was answered %s (SPEC H4)", k.label, reply.Outcome)
		}
		ids <- reply.Task.ID
	}
	for i := range k.senders {
		go send(rand.New(rand.NewPCG(k.seed, uint64(i))))
	}
	var got []string
	for range k.senders {
		got = append(got, <-ids)
	}
	rng := rand.New(rand.NewPCG(k.seed, 77))
	time.Sleep(time.Duration(rng.IntN(30)) * time.Second)
	send(rng)
	got = append(got, <-ids)
	got = slices.Compact(slices.DeleteFunc(got, func(id string) bool { return id == "" }))
	switch {
	case len(got) > 1:
		m.errorf("%s became %v (SPEC H4)", k.label, got)
	case len(got) == 1:
		o := m.own(got[0])
		o.accepted.Store(true)
		m.mu.Lock()
		m.keyed[k.label] = got[0]
		m.mu.Unlock()
		k.other(m, rng, once)
	}
}

// other sends another request under the same key.
func (k keyedSubmit) other(m *mixed, rng *rand.Rand, once api.Once) {
	once.Body += 2
	q := api.SubmitRequest{Behavior: "ext", Params: []byte(`{"ms":1}`), Labels: map[string]string{"once": k.label}}
	_, err := m.call(rng, "another body under "+k.label, func(ctx context.Context, n *node.Node) error {
		_, err := n.Submit(api.WithOnce(ctx, once), q)
		return err
	})
	if api.CodeOf(err) != api.CodeIdempotencyMismatch {
		m.errorf("another body under the key of %s: %v (SPEC H4)", k.label, err)
	}
}

// checkKeys: each key made one task.
func (m *mixed) checkKeys(tasks map[string]*api.Task) {
	for id, t := range tasks {
		if label := t.Labels["once"]; label != "" && m.keyed[label] != id {
			m.errorf("%s was submitted under the key of %s, which was answered with %q (SPEC H4)", id, label, m.keyed[label])
		}
	}
}
