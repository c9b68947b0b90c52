package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/taskrt/taskrt/task"
)

func (g *generator) activate(r *Run) Op {
	o := Op{Verb: "activate"}
	n := g.number()
	o.Module = fmt.Sprintf("m%d", n)
	// What a module contains depends on its number alone: a version names one policy.
	fixed := &generator{rng: rand.New(rand.NewPCG(uint64(n), 1))}
	for i, b := range behaviors {
		if fixed.percent(60) || n%len(behaviors) == i {
			o.Behaviors = append(o.Behaviors, fixed.policy(b))
		}
	}
	for i := range o.Behaviors {
		if b := &o.Behaviors[i]; fixed.percent(70) {
			b.Operation = fixed.operationPolicy(o.Behaviors)
		}
	}
	if n%9 == 8 {
		o.Behaviors = append(o.Behaviors, fixed.policy(pick(fixed, externals)))
	}
	o.Noted = g.percent(20)
	if b := r.model.Behaviors; g.focus == onUpkeep && g.percent(50) && b[task.Key{Namespace: task.SystemNamespace, ID: behaviors[0]}] == nil {
		o.NS = task.SystemNamespace
	}
	switch n % 7 {
	case 6:
		o.NS = task.SystemNamespace
	case 4, 5:
		o.NS = g.other()
	}
	return o
}

// number returns the number of a new version, or of a former one.
func (g *generator) number() int {
	if g.modules > 0 && g.percent(35) {
		return g.rng.IntN(g.modules)
	}
	g.modules++
	return g.modules - 1
}

// put defines an external behavior.
func (g *generator) put(*Run) Op {
	n := g.number()
	fixed := &generator{rng: rand.New(rand.NewPCG(uint64(n), 2))}
	p := fixed.policy(pick(fixed, externals))
	if n%9 == 7 {
		p.Name = pick(fixed, behaviors)
	}
	p.Lease = pick(fixed, []task.Millis{0, 1000, 3000, 8000})
	return Op{Verb: "put", NS: g.namespace(), Module: fmt.Sprintf("x%d", n), Behaviors: []Policy{p}}
}

// named makes a command about a behavior, mostly about an existing behavior.
func (g *generator) named(r *Run, verb string) Op {
	o := Op{Verb: verb, Behavior: pick(g, behaviors)}
	if g.percent(40) {
		o.Behavior = pick(g, externals)
	}
	o.NS = g.namespace()
	return o
}

func (g *generator) rollback(r *Run) Op {
	o := g.named(r, "rollback")
	o.Version = fmt.Sprintf("m%d", g.rng.IntN(g.modules+1))
	if b := r.model.Behaviors[task.Key{Namespace: o.key().Namespace, ID: o.Behavior}]; b != nil && len(b.Versions) > 0 && g.percent(85) {
		o.Version = pick(g, b.Versions).Version[len(versionPrefix):]
	}
	return o
}

func (g *generator) deleteBehavior(r *Run) Op {
	o := g.named(r, "delete")
	for _, name := range slices.Concat(behaviors, externals) { // sometimes a behavior that is paused
		if b := r.model.Behaviors[task.Key{Namespace: o.key().Namespace, ID: name}]; b != nil && b.Paused && g.percent(25) {
			o.Behavior = name
		}
	}
	o.On = g.percent(40)
	if b := r.model.Behaviors[task.Key{Namespace: o.key().Namespace, ID: o.Behavior}]; b != nil && b.Deleted {
		o.On = g.percent(80) // purged after all
	}
	return o
}

func (g *generator) pause(r *Run) Op {
	o := g.named(r, "pause")
	o.On = g.percent(55)
	return o
}

func (g *generator) policy(name string) Policy {
	p := Policy{
		Name: name, MaxAttempts: g.rng.Int64N(4), InitialInterval: pick(g, []task.Millis{0, 100, 1000}),
		Multiplier: pick(g, []int64{1000, 1500, 2000}), MaxInterval: pick(g, []task.Millis{800, 3000, 3_600_000}),
		Jitter: pick(g, []int64{0, 10, 50}), MaxLost: 1 + g.rng.Int64N(3),
		KeepSuccess: pick(g, []task.Millis{-1, 5000, 3_600_000, 3 * 24 * 3_600_000}),
		KeepFailure: pick(g, []task.Millis{-1, 5000, 3_600_000, 14 * 24 * 3_600_000}),
		Required:    g.percent(20),
		RunTimeout:  pick(g, []task.Millis{0, 500, 1000, 20_000}), FailOnTimeout: g.percent(30),
		CancelGrace: pick(g, []task.Millis{0, 500, 3000}), RepeatEvery: pick(g, []task.Millis{0, 0, 500, 4000}), RepeatAny: g.percent(40),
		MaxConcurrent: pick(g, []int64{0, 0, 1, 3}), MaxPerKey: pick(g, []int64{0, 1, 1, 2}), KeyStrict: g.percent(50),
	}
	return p
}
