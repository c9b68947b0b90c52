package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

// define makes all behaviors.
func (m *mixed) define() {
	for i, name := range externalNames {
		putExternal(m.c.t, m.c, i%nodes, name, fmt.Sprintf(externals[name], 3))
	}
	m.push(rand.New(rand.NewPCG(m.s.seed, 5)), 3)
}

// admin draws something that an operator does and undoes.
func (g *generator) admin() {
	b := g.pick("ext", "key1", "key3", "strict", "again", "wait")
	d := g.between(100*time.Millisecond, 12*time.Second)
	seed := g.rng.Uint64()
	switch g.rng.IntN(8) {
	case 0, 1:
		g.add(func(r *runner) { r.mix.pause(seed, b, d) }, "pause %s for %v", b, d)
	case 2, 3:
		n := fmt.Sprintf("n%d", 1+g.rng.IntN(nodes))
		g.add(func(r *runner) { r.mix.drain(seed, n, d) }, "drain %s for %v", n, d)
	case 4, 5:
		most := 1 + g.rng.IntN(3)
		g.add(func(r *runner) { r.mix.limit(seed, b, most, d) }, "limit %s to %d, and back after %v", b, most, d)
	case 6:
		if b == "wait" {
			b = "ext"
		}
		g.add(func(r *runner) { r.mix.remove(seed, b, d) }, "delete %s, and define it again after %v", b, d)
	case 7:
		g.add(func(r *runner) { r.mix.purge(seed, d) }, "delete and purge gone, and define it again after %v", d)
	}
}

func (m *mixed) pause(seed uint64, behavior string, d time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, paused := range []bool{true, false} {
		what := fmt.Sprintf("pause %s: %v", behavior, paused)
		err := m.callOnce(rng, what, func(ctx context.Context, n *node.Node) error {
			b, err := n.PauseBehavior(ctx, "", behavior, paused)
			if err == nil && b.Paused != paused {
				m.errorf("%s: %+v", what, b)
			}
			return err
		})
		m.mayFail(what, err, api.CodeBehaviorNotFound) // the behavior comes back unpaused
		if paused {
			time.Sleep(d)
		}
	}
}

// drain drains a node for a while, unless another drain goes on. It notes between which entries the node must get
// nothing.
func (m *mixed) drain(seed uint64, id string, d time.Duration) {
	p := &m.drains[m.c.Index(id)]
	if !p.TryLock() {
		return
	}
	defer p.Unlock()
	rng := rand.New(rand.NewPCG(seed, 1))
	idle := idleTime{node: id}
	err := m.callOnce(rng, "drain "+id, func(ctx context.Context, n *node.Node) error {
		ctx, meta := api.WithMeta(ctx)
		_, err := n.Drain(ctx, id, true)
		idle.from = meta.Index()
		return err
	})
	m.mayFail("drain "+id, err)
	time.Sleep(d)
	_, err = m.call(rng, "look at the log", func(ctx context.Context, n *node.Node) error {
		return n.Store().Read(ctx, func(k *task.Machine) { idle.to = k.Index() })
	})
	if err != nil {
		idle.to = idle.from
	}
	err = m.callOnce(rng, "no longer drain "+id, func(ctx context.Context, n *node.Node) error {
		_, err := n.Drain(ctx, id, false)
		return err
	})
	m.mayFail("no longer drain "+id, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, idle)
	if idle.from > 0 {
		m.counts["entries drained"] += int(idle.to) - int(idle.from)
	}
}

// put tries to define an external behavior until it is defined.
func (m *mixed) put(rng *rand.Rand, behavior string, most int) {
	policy := json.RawMessage(fmt.Sprintf(externals[behavior], most))
	err := m.callOnce(rng, fmt.Sprintf("put %s, %d", behavior, most), func(ctx context.Context, n *node.Node) error {
		_, err := n.PutBehavior(ctx, api.PutBehaviorRequest{Name: behavior, Policy: policy})
		return err
	})
	m.mayFail("put "+behavior, err)
}

// limit changes a limit by a new version, and then rolls back.
func (m *mixed) limit(seed uint64, behavior string, most int, d time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1))
	former := ""
	_, err := m.call(rng, "look at "+behavior, func(ctx context.Context, n *node.Node) error {
		b, err := n.Behavior(ctx, "", behavior)
		if err == nil {
			former = b.Version
		}
		return err
	})
	m.mayFail("look at "+behavior, err, api.CodeBehaviorNotFound)
	if behavior == "wait" {
		m.push(rng, most)
	} else {
		m.put(rng, behavior, most)
	}
	time.Sleep(d)
	if former == "" {
		return
	}
	err = m.callOnce(rng, "roll back "+behavior, func(ctx context.Context, n *node.Node) error {
		_, err := n.ActivateVersion(ctx, "", behavior, former)
		return err
	})
	m.mayFail("roll back "+behavior, err, api.CodeVersionNotFound, api.CodeBehaviorNotFound)
}

// push makes a version of "wait", which workers with sessions run.
func (m *mixed) push(rng *rand.Rand, most int) {
	wasm, _, err := Guest("wait")
	if err != nil {
		m.c.t.Fatal(err)
	}
	manifest := fmt.Appendf(nil, `{"schema":1,"behaviors":[{"name":"wait","heartbeat_timeout":"10s","max_concurrent":%d}]}`, most)
	err = m.callOnce(rng, "push wait", func(ctx context.Context, n *node.Node) error {
		_, err := n.Push(ctx, api.PushRequest{Name: "wait", Manifest: manifest, Wasm: bytes.NewReader(wasm), Size: int64(len(wasm))})
		return err
	})
	m.mayFail("push wait", err)
}

// remove deletes a behavior. Its tasks wait until it is defined again (SPEC B8).
func (m *mixed) remove(seed uint64, behavior string, d time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1))
	err := m.callOnce(rng, "delete "+behavior, func(ctx context.Context, n *node.Node) error {
		return n.DeleteBehavior(ctx, "", behavior, false)
	})
	m.mayFail("delete "+behavior, err, api.CodeBehaviorNotFound)
	time.Sleep(d)
	m.put(rng, behavior, 2)
}

// purge deletes the behavior "gone" with its tasks, and defines it again. The new one takes up the tasks that are left
// by then.
func (m *mixed) purge(seed uint64, d time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1))
	err := m.callOnce(rng, "purge gone", func(ctx context.Context, n *node.Node) error {
		return n.DeleteBehavior(ctx, "", "gone", true)
	})
	m.mayFail("purge gone", err, api.CodeBehaviorNotFound)
	time.Sleep(d)
	m.put(rng, "gone", 3)
}
