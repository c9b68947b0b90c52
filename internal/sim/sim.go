// Package sim is a seeded simulator of package task, for tests only. It makes up log entries, feeds them to three replicas of the
// real machine and to the naive model (package naive), and compares everything after each entry. It shrinks a seed that fails
// to a short script, which can be committed under testdata/ as a regression case.
//
// Nothing here knows a machine's numbers by heart. Operations name tokens, revs and sessions symbolically ("attempt 2
// of t1", "the second session of w3"). So a script keeps its meaning when steps are dropped from it, or when the
// machine numbers things differently.
package sim

import (
	"fmt"

	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// Step is one log entry, and what happens to the replicas before it.
type Step struct {
	Term   uint64         `json:"term"`
	Now    task.Time      `json:"now"`
	Lease  task.LeaseTime `json:"lease"`
	Freeze []int          `json:"freeze,omitempty"` // replicas that take a snapshot, not written yet
	Thaw   []int          `json:"thaw,omitempty"`   // replicas that restart from their snapshot and replay the log since
	Ops    []Op           `json:"-"`
}

// Failure is a difference or a broken invariant.
type Failure struct {
	Step int    // index of the step
	What string // what differs
}

func (f *Failure) Error() string { return fmt.Sprintf("step %d: %s", f.Step, f.What) }

// Options change a run, for the tests of the simulator itself.
type Options struct {
	// Tamper may change what a replica applies: a sabotage that the simulator must find.
	Tamper func(replica int, r *Run, ps []task.Proposal) []task.Proposal
	// Observe sees every entry that passed.
	Observe func(r *Run, ps []task.Proposal, rs []task.Result)
	// Light runs one replica and compares only records, at a third of the cost. It is for watching what the seeds meet.
	Light bool
}

// Run is a running comparison.
type Run struct {
	opts     Options
	model    *naive.Model
	numbers  *adopter
	replicas [replicas]*replica
	index    uint64
	history  *history
	symbols  *symbols

	accessRev, signInRev uint64            // of the access tokens, after the last entry
	jobs                 map[uint64]uint64 // revs of bulk jobs, after the last entry
}

const (
	replicas    = 3
	processIdle = 60_000 // short, so that processes and keys are forgotten within a run
	clientKeys  = 6      // few, so that there are too many
	finals      = 8      // as are these
	sweep       = 2
	spaceLimit  = 4
	stepLimit   = 5
	cleanups    = 2
)

// auditBounds are small, and short, so that records of the audit go within a run.
var auditBounds = audit.Bounds{Changes: 7, Refusals: 12, Age: 90_000}

var naiveLimits = naive.Limits{Idle: processIdle, Keys: clientKeys, Finals: finals, Sweep: sweep, Namespaces: spaceLimit, Steps: stepLimit, Cleanups: cleanups, Changes: auditBounds.Changes, Refusals: auditBounds.Refusals, Age: auditBounds.Age}

// New starts a comparison from the empty state.
func New(opts Options) *Run {
	r := &Run{opts: opts, index: levels, model: naive.New(naiveLimits), history: newHistory(), symbols: newSymbols(), jobs: map[uint64]uint64{}}
	r.numbers = newAdopter(r.model)
	for i := range r.replicas {
		r.replicas[i] = newReplica(i)
		r.replicas[i].unchecked = opts.Light
	}
	return r
}

// Replay runs steps from the empty state and returns the first failure, or nil if there is none. A panic of the machine
// is a failure, too.
func Replay(steps []Step, opts Options) *Failure {
	r := New(opts)
	for i, s := range steps {
		if err := r.Step(s); err != nil {
			return &Failure{i, err.Error()}
		}
	}
	return nil
}

// Step applies one entry everywhere and compares.
func (r *Run) Step(s Step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()
	r.index++
	h := task.Header{Index: r.index, Term: s.Term, Now: s.Now, LeaseNow: s.Lease}
	for _, i := range s.Freeze {
		if !r.opts.Light {
			r.replicas[i].freeze()
		}
	}
	for _, i := range s.Thaw {
		if r.opts.Light {
			break
		}
		if err := r.replicas[i].thaw(); err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
	}
	var ps []task.Proposal
	for _, op := range s.Ops {
		ps = append(ps, r.symbols.resolve(op))
	}
	var results []task.Result
	var events []task.Event
	for i, rep := range r.replicas {
		if r.opts.Light && i > 0 {
			break
		}
		mine := ps
		if r.opts.Tamper != nil {
			mine = r.opts.Tamper(i, r, append([]task.Proposal(nil), ps...))
		}
		rs, es, err := rep.apply(h, mine)
		if err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
		if i == 0 {
			results, events = rs, es
			continue
		}
		if err := sameReplica(r.replicas[0], rep, results, rs, events, es); err != nil {
			return fmt.Errorf("replicas 0 and %d differ: %w", i, err)
		}
	}
	r.numbers.next()
	want := r.model.Apply(h, ps, results)
	if err := r.compare(ps, results, want, events); err != nil {
		return err
	}
	if !r.opts.Light {
		if err := r.history.observe(r.replicas[0].m, ps, results); err != nil {
			return err
		}
	}
	r.symbols.observe(r.replicas[0].m)
	if r.opts.Observe != nil {
		r.opts.Observe(r, ps, results)
	}
	return nil
}

// Machine returns the replica that is compared with the model.
func (r *Run) Machine() *task.Machine { return r.replicas[0].m }

// Explore makes up n entries from the seed and runs them until one fails. It returns the entries so far.
func Explore(seed uint64, n int, opts Options) ([]Step, *Failure) {
	g, r := newGenerator(seed), New(opts)
	var steps []Step
	for i := range n {
		s := g.step(r)
		steps = append(steps, s)
		if err := r.Step(s); err != nil {
			return steps, &Failure{i, err.Error()}
		}
	}
	return steps, nil
}
