package sim

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// accessNames are the names of access tokens; some are wrong.
var accessNames = []string{"ann", "bob", "ci.deploy", "ann", "bob", "ci.deploy", "root", "x", "Ann"}

// access makes a command about access tokens (SPEC A4).
func (g *generator) access(*Run) Op {
	o := Op{Name: pick(g, accessNames), Secret: pick(g, []string{"one", "two", "three", "four", "five", "six", "", "-"})}
	switch n := g.rng.IntN(20); {
	case n < 9:
		o.Verb, o.Size, o.Group = "token", int64(1+g.rng.IntN(63)), pick(g, []string{"*", "blue-*", "default"})
		if g.percent(50) {
			o.Delay = task.Millis(g.rng.Int64N(20_000))
		}
		if g.percent(50) {
			o.Behavior = pick(g, behaviors)[:1] + "*"
		}
		if g.percent(10) {
			o.Label = "corp/ann"
		}
		if g.percent(4) {
			o.Size, o.Delay, o.Group = pick(g, []int64{0, 64, 1 << 20}), -1, ""
		}
	case n < 14:
		o.Verb = "rotate"
		if g.percent(60) {
			o.Delay = task.Millis(g.rng.Int64N(9000))
		}
	case n < 18:
		o.Verb = "revoke"
	case n == 18:
		if o.Verb = "sign-in"; g.percent(20) {
			o.Age = 1
		}
		if g.percent(5) {
			o.Long = 40_000
		}
	default:
		o.Verb, o.On = "root", g.percent(40)
	}
	if o.Verb != "token" && g.percent(10) {
		o.Hello = 1 + g.rng.Uint64N(20)
	}
	return o
}

// refusals makes a command that notes refusals (SPEC A8). A part is of the token Hello, the route Name and the namespace NS.
func (g *generator) refusals(*Run) Op {
	o := Op{Verb: "refusals"}
	for range g.rng.IntN(18) {
		p := Op{Hello: 1 + g.rng.Uint64N(3), Name: pick(g, []string{"tasks", "tokens", "cluster", "events", "blobs"}), NS: pick(g, []string{"", "", "default", "blue"}), Size: 1 + g.rng.Int64N(9)}
		if g.percent(1) {
			p.Hello, p.Size = pick(g, []uint64{0, 1}), pick(g, []int64{0, -1})
		}
		o.Parts = append(o.Parts, Part{Kind: "refusal", Op: p})
	}
	return o
}

// by says who asks for a command: mostly nobody in particular.
func (g *generator) by(r *Run, o Op) Op {
	if slices.Contains([]string{"assign", "renew", "tick", "open", "close", "crash"}, o.Verb) || !g.percent(15) {
		return o
	}
	if o.By = pick(g, accessNames[:4]); g.percent(20) {
		o.By = pick(g, []string{"root", "root", "nobody"})
	}
	if there := slices.Sorted(maps.Keys(r.model.Access)); len(there) > 0 && g.percent(50) {
		o.By = pick(g, there)
	}
	o.Look = g.percent(50)
	if o.Route = g.percent(30); o.Route && g.percent(4) {
		o.Long = 300
	}
	return o
}
