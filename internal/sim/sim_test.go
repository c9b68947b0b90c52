package sim_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/sim"
	"github.com/taskrt/taskrt/task"
)

var (
	seed  = flag.Uint64("sim.seed", 100, "the first seed")
	seeds = flag.Uint64("sim.seeds", 5, "how many seeds")
	steps = flag.Int("sim.steps", 500, "entries per seed")
)

// TestSim compares three replicas with the model over random entries.
//
//	go test ./internal/sim -run TestSim -sim.seed=N -sim.steps=N -sim.seeds=N
func TestSim(t *testing.T) {
	t.Parallel()
	if raceDetector && *steps == 500 {
		*steps = 50
	}
	for s := *seed; s < *seed+*seeds; s++ {
		run, failure := sim.Explore(s, *steps, sim.Options{})
		if failure == nil {
			continue
		}
		if testing.Short() { // the caller only wants to know whether it fails
			t.Fatal(s, failure)
		}
		script, small := sim.Shrink(run, sim.Options{}, 200_000)
		t.Fatalf("make sim SEED=%d SEEDS=1 STEPS=%d fails at %v\n\nshrunk to %d entries: %v\n\nCommit this as internal/sim/testdata/NAME.txt:\n\n%s",
			s, *steps, failure, len(script), small, sim.Format(script))
	}
}

// TestScripts replays the regression cases.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			in, err := os.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			run, err := sim.Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if failure := sim.Replay(run, sim.Options{}); failure != nil {
				t.Fatal(failure)
			}
		})
	}
}

// on makes every replica apply f's version of the commands of one type.
func on[C task.Command](f func(r *sim.Run, c C) C) sim.Options {
	return sim.Options{Tamper: func(_ int, r *sim.Run, ps []task.Proposal) []task.Proposal {
		for i := range ps {
			if c, ok := ps[i].Command.(C); ok {
				ps[i].Command = f(r, c)
			}
		}
		return ps
	}}
}

// soon are seeds that have found a sabotage after few entries, where the first seeds need many. When entries are made in another way,
// others find it.
var soon = map[string]uint64{
	"a replica claims another record":           14,
	"owner not checked":                         30,
	"token of a run of maintenance not checked": 1,
}

// TestFindsSabotage: the simulator must notice a machine that is wrong, and it must hand out a script that shows it.
func TestFindsSabotage(t *testing.T) {
	for name, opts := range map[string]sim.Options{
		"token not checked": on(func(r *sim.Run, f task.Finish) task.Finish {
			if t := r.Machine().Task(f.Key); t != nil && t.Lease != nil {
				f.Token = t.Lease.Token
			}
			return f
		}),
		"rev not checked": on(func(r *sim.Run, a task.Assign) task.Assign {
			if t := r.Machine().Task(a.Key); t != nil {
				a.Rev = t.Rev
			}
			return a
		}),
		"proof not checked": on(func(r *sim.Run, o task.OpenSession) task.OpenSession {
			for _, s := range r.Machine().Sessions() {
				if s.Worker == o.Worker {
					o.Proof = s.Proof
				}
			}
			return o
		}),
		"seq not checked": on(func(_ *sim.Run, b task.Beat) task.Beat {
			b.Seq = 1 << 40
			return b
		}),
		"renewals lost": on(func(_ *sim.Run, _ task.RenewSession) task.RenewSession {
			return task.RenewSession{}
		}),
		"expectation of a transaction dropped": on(func(_ *sim.Run, x task.Txn) task.Txn {
			x.Depends = nil
			return x
		}),
		"transaction half applied": on(func(_ *sim.Run, x task.Txn) task.Txn {
			if len(x.Deletes) > 0 && len(x.Updates) > 0 {
				x.Deletes = nil
			}
			return x
		}),
		"concurrency key dropped": on(func(_ *sim.Run, x task.Submit) task.Submit {
			x.ConcurrencyKey = ""
			return x
		}),
		"external lease kept alive": on(func(_ *sim.Run, x task.Beat) task.Beat {
			if x.External {
				x.Extend = 3_600_000
			}
			return x
		}),
		"pause ignored": on(func(_ *sim.Run, x task.PauseBehavior) task.PauseBehavior {
			x.Paused = false
			return x
		}),
		"re-pin ignored": on(func(_ *sim.Run, x task.RetryTask) task.RetryTask {
			if x.Version != "" {
				x.Version = task.VersionActive
			}
			return x
		}),
		"late opening believed": on(func(_ *sim.Run, x task.OpenSession) task.OpenSession {
			x.Hello = 0
			return x
		}),
		"partition forgotten": on(func(_ *sim.Run, x task.StartOperation) task.StartOperation {
			if x.Partitions > 1 && x.Names == nil {
				x.Partitions--
			}
			return x
		}),
		"quota ignored": on(func(_ *sim.Run, x task.PutNamespace) task.PutNamespace {
			x.Quota = nil
			return x
		}),
		"blob noted once": on(func(_ *sim.Run, x task.NoteBlob) task.NoteBlob {
			x.Ready = false
			return x
		}),
		"token of a run of maintenance not checked": on(func(r *sim.Run, c task.Command) task.Command {
			if t := r.Machine().Task(task.MaintenanceKey()); t != nil && t.Lease != nil {
				switch x := c.(type) {
				case task.DropTasks:
					x.Token = t.Lease.Token
					return x
				case task.TrimBehavior:
					x.Token = t.Lease.Token
					return x
				case task.RecordRun:
					x.Token = t.Lease.Token
					return x
				}
			}
			return c
		}),
		"owner not checked": on(func(r *sim.Run, x task.StoreUpdate) task.StoreUpdate {
			if len(x.Deletes) > 0 {
				if rec := r.Machine().StoreRecord(x.Namespace, x.Deletes[0]); rec != nil {
					x.Client = rec.Owner
				}
			}
			return x
		}),
		"a replica claims another record": {Tamper: func(replica int, _ *sim.Run, ps []task.Proposal) []task.Proposal {
			for i := range ps {
				if x, ok := ps[i].Command.(task.StoreClaim); ok && replica == 1 {
					x.Seed++
					ps[i].Command = x
				}
			}
			return ps
		}},
		"body of a client's key not checked": {Tamper: func(_ int, _ *sim.Run, ps []task.Proposal) []task.Proposal {
			for i := range ps {
				ps[i].Origin.Body = min(ps[i].Origin.Body, 1)
			}
			return ps
		}},
		"resending not de-duplicated": {Tamper: func(_ int, _ *sim.Run, ps []task.Proposal) []task.Proposal {
			for i := range ps {
				ps[i].Origin = task.Origin{}
			}
			return ps
		}},
		"one replica loses a command": {Tamper: func(replica int, r *sim.Run, ps []task.Proposal) []task.Proposal {
			for i := range ps {
				if _, ok := ps[i].Command.(task.Beat); ok && replica == 2 {
					ps[i].Command = task.Tick{}
				}
			}
			return ps
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var run []sim.Step
			var failure *sim.Failure
			first := max(1, soon[name])
			for s := first; s < first+20 && failure == nil; s++ {
				run, failure = sim.Explore(s, 300, opts)
			}
			if failure == nil {
				t.Fatal("not found")
			}
			small, failure := sim.Shrink(run, opts, 20_000)
			script := sim.Format(small)
			again, err := sim.Parse(strings.NewReader("# " + name + "\n" + script))
			if err != nil {
				t.Fatal(err)
			}
			if f := sim.Replay(again, opts); f == nil || f.What != failure.What {
				t.Fatalf("the printed script fails with %v, not with %v:\n%s", f, failure, script)
			}
			if f := sim.Replay(again, sim.Options{}); f != nil {
				t.Fatalf("the script fails without the sabotage: %v\n%s", f, script)
			}
			if len(small) > 20 {
				t.Errorf("shrunk from %d to %d entries only", len(run), len(small))
			}
			t.Logf("%v\n%s", failure, script)
		})
	}
}
