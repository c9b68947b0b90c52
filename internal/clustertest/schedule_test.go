package clustertest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
)

// schedule is what happens to a cluster, drawn from a seed. A failure prints its text. It is decided at its time who
// "the leader" is, and goroutines take turns as they like. So the same seed gives the same schedule, but not the same
// run.
type schedule struct {
	seed    uint64
	workers int  // separate workers, besides those of the three nodes
	compact bool // snapshots every few entries and next to no log, so a node that was away gets a snapshot
	events  []event
}

// event happens at a time after the start, in a goroutine of its own.
type event struct {
	at   time.Duration
	text string
	run  func(r *runner)
}

func (s *schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: 3 nodes, %d separate workers, many snapshots: %v\n", s.seed, s.workers, s.compact)
	for _, e := range s.events {
		fmt.Fprintf(&b, "%8.3fs %s\n", e.at.Seconds(), e.text)
	}
	return b.String()
}

const (
	nodes    = 3
	faultFor = 60 * time.Second // faults and submits begin within this time
)

func draw(seed uint64) *schedule {
	g := &generator{s: &schedule{seed: seed}, rng: rand.New(rand.NewPCG(seed, 7))}
	g.s.workers, g.s.compact = g.rng.IntN(3), g.rng.IntN(2) == 0
	for range 4 + g.rng.IntN(9) {
		g.fault()
	}
	g.near = slices.Clone(g.s.events)
	for range 20 + g.rng.IntN(20) {
		g.client()
	}
	for range 1 + g.rng.IntN(3) {
		g.equals()
	}
	slices.SortStableFunc(g.s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return g.s
}

type generator struct {
	s     *schedule
	rng   *rand.Rand
	tasks int
	near  []event // the faults; half of the clients' calls begin soon after one, where they meet most
}

func (g *generator) add(run func(r *runner), format string, args ...any) {
	at := g.between(0, faultFor)
	if len(g.near) > 0 && g.rng.IntN(2) == 0 {
		at = g.near[g.rng.IntN(len(g.near))].at + g.between(0, 2*time.Second)
	}
	g.s.events = append(g.s.events, event{at, fmt.Sprintf(format, args...), run})
}

// between draws a time.
func (g *generator) between(low, high time.Duration) time.Duration {
	return low + time.Duration(g.rng.Int64N(int64(high-low))).Truncate(time.Millisecond)
}

func (g *generator) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

// client adds the life of one task: a submit, and what its owner does with it later.
func (g *generator) client() {
	g.tasks++
	p := program{
		id: fmt.Sprintf("task-%02d", g.tasks), behavior: g.pick("echo", "wait", "wait", "wait", "fails"), seed: g.rng.Uint64(),
		ifExists: g.pick("join", "fail", "fail"),
	}
	switch p.behavior {
	case "echo":
		p.params = fmt.Sprintf(`{"n":%d}`, g.tasks)
	case "wait":
		p.params = fmt.Sprint(g.rng.IntN(20_000))
	case "fails":
		p.params = fmt.Sprint(g.rng.IntN(6)) // from 4 on the task fails for good
	}
	if g.rng.IntN(3) == 0 {
		p.delay = g.between(0, 20*time.Second)
	}
	switch g.rng.IntN(8) {
	case 0, 1:
		p.acts = append(p.acts, act{g.between(0, 20*time.Second), "cancel"})
	case 2:
		p.acts = append(p.acts, act{g.between(0, 20*time.Second), "remove"})
	case 3, 4:
		for range 1 + g.rng.IntN(2) {
			p.acts = append(p.acts, act{g.between(0, 5*time.Second), "await"}, act{g.between(0, 5*time.Second), "rerun"})
		}
	case 5:
		p.acts = append(p.acts, act{g.between(0, 20*time.Second), "resubmit"})
	case 6:
		p.acts = append(p.acts, act{0, "await"}, act{g.between(0, 5*time.Second), "cancel"})
	}
	g.add(p.run, "%v", p)
}

// equals adds several equal submits at about the same time. Their behavior takes IDs from the params (SPEC I4).
func (g *generator) equals() {
	g.tasks++
	e := equalSubmits{n: 2 + g.rng.IntN(6), params: fmt.Sprintf(`{"equal":%d}`, g.tasks), seed: g.rng.Uint64()}
	g.add(e.run, "%d equal submits of %s", e.n, e.params)
}

func (g *generator) fault() {
	member := g.rng.IntN(nodes)
	other := (member + 1 + g.rng.IntN(nodes-1)) % nodes
	who := g.pick("leader", "leader", "n1", "n2", "n3", "w1", "w2")
	whom := g.pick("leader", "leader", "n1", "n2", "n3")
	d := g.between(100*time.Millisecond, 30*time.Second)
	a, b := fmt.Sprintf("n%d", member+1), fmt.Sprintf("n%d", other+1)
	if g.s.workers > 0 && g.rng.IntN(3) == 0 {
		a = "w1"
	}
	switch g.rng.IntN(16) {
	case 0, 1:
		g.add(func(r *runner) { r.isolate(who, d) }, "isolate %s for %v", who, d)
	case 2:
		g.add(func(r *runner) { r.cut(a, b, d) }, "cut %s from %s for %v", a, b, d)
	case 3:
		g.add(func(r *runner) { r.cutOneWay(a, b, d) }, "cut from %s to %s, one way, for %v", a, b, d)
	case 4:
		g.add(func(r *runner) { r.cutOneWay(b, a, d) }, "cut from %s to %s, one way, for %v", b, a, d)
	case 5:
		by := g.between(time.Millisecond, 400*time.Millisecond)
		g.add(func(r *runner) { r.delay(a, b, by, d) }, "delay between %s and %s by %v for %v", a, b, by, d)
	case 6:
		oneIn, seed := 10+g.rng.IntN(200), g.rng.Uint64()
		g.add(func(r *runner) { r.lossy(seed, oneIn, d) }, "reset a connection at 1 in %d writes for %v", oneIn, d)
	case 7:
		g.add(func(r *runner) { r.reset(a, b) }, "reset what connects %s and %s", a, b)
	case 8, 9:
		g.add(func(r *runner) { r.kill(who, d) }, "kill %s, start it after %v", who, d)
	case 10:
		g.add(func(r *runner) { r.stop(who, d) }, "stop %s, start it after %v", who, d)
	case 11:
		jump := time.Hour
		if g.rng.IntN(2) == 0 {
			jump = -jump
		}
		g.add(func(r *runner) { r.jump(whom, jump) }, "the wall clock of %s jumps by %v", whom, jump)
	case 12:
		g.add(func(r *runner) { r.transfer() }, "the leader hands over")
	case 13:
		if g.rng.IntN(2) == 0 {
			g.add(func(r *runner) { r.killAll(d) }, "kill all nodes, start them after %v", d)
			return
		}
		g.add(func(r *runner) { r.transfer(); r.kill(whom, d) }, "the leader hands over and at once %s is killed, start it after %v", whom, d)
	case 14:
		lost := g.rng.IntN(2) == 0
		g.add(func(r *runner) { r.restore(whom, d, lost) }, "restore a copy of %s that is %v old; its disk is lost: %v", whom, d, lost)
	case 15:
		g.add(func(r *runner) { r.copyBeside(whom) }, "start a copy of %s beside it", whom)
	}
}

// program is the life of one task, from the owner's side.
type program struct {
	id, behavior, params, ifExists string
	delay                          time.Duration
	seed                           uint64
	acts                           []act
}

type act struct {
	after time.Duration
	what  string // cancel, remove, rerun, resubmit, or await, which waits for the final state
}

func (p program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "submit %s %s(%s) if_exists=%s", p.id, p.behavior, p.params, p.ifExists)
	if p.delay > 0 {
		fmt.Fprintf(&b, " delay %v", p.delay)
	}
	for _, s := range p.acts {
		fmt.Fprintf(&b, ", %v later %s", s.after, s.what)
	}
	return b.String()
}

func (p program) request() api.SubmitRequest {
	r := api.SubmitRequest{ID: p.id, Behavior: p.behavior, Params: []byte(p.params), IfExists: p.ifExists}
	if p.delay > 0 {
		r.Delay = new(api.Duration(p.delay))
	}
	return r
}
