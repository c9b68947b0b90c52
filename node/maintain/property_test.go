package maintain

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

var schedules = flag.Int("maintain.schedules", 1000, "random schedules of TestNothingReferencedIsDeleted")

// user uses a cluster while it is maintained. Its steps are the product's steps: it notes a blob, writes it, notes that
// it is ready, and submits a task. A run may do anything between two steps.
type user struct {
	w       *world
	rng     *rand.Rand
	content string
	step    int
}

// act does the user's next step, or begins something else.
func (u *user) act() {
	w, d := u.w, digestOf(u.content)
	switch u.step {
	case 0: // put; the content may be there already, or may have just gone
		u.content = fmt.Sprint("content ", u.rng.IntN(6))
		w.must(task.NoteBlob{Digest: digestOf(u.content), Size: int64(len(u.content))})
	case 1:
		if w.m.Blob(d) == nil {
			u.step = 0 // it was dropped in between, so the user starts again
			return
		}
		w.write(d)
	case 2:
		if r := w.apply(task.NoteBlob{Digest: d, Size: int64(len(u.content)), Ready: true}); r.Code == task.BlobGone {
			u.step = 0
			return
		}
		if u.rng.IntN(4) == 0 {
			w.now += task.Time(u.rng.Int64N(int64(hour))) // the user dawdles
		}
	case 3:
		id := fmt.Sprint("task", u.rng.IntN(30))
		r := w.submit("default", id, "brief", blobPayload(u.content))
		if r.Code == task.BlobGone {
			u.step = 0
			return
		}
	default:
		u.end()
		u.step = 0
		return
	}
	u.step++
}

// end lets a task make progress: it succeeds with a blob, fails, is rerun or is removed.
func (u *user) end() {
	w := u.w
	id := fmt.Sprint("task", u.rng.IntN(30))
	x := w.m.Task(task.Key{Namespace: "default", ID: id})
	switch {
	case x == nil:
	case u.rng.IntN(8) == 0:
		w.must(task.Remove{Key: x.Key()})
	case x.Final():
		w.must(task.Submit{Namespace: "default", ID: id, Behavior: "brief", IfExists: task.Rerun})
	case x.Lease == nil && x.NotBefore <= w.now:
		result := task.Payload{}
		if u.rng.IntN(2) == 0 {
			result = blobPayload(fmt.Sprint("content ", u.rng.IntN(6)))
		}
		w.end("default", id, u.rng.IntN(4) > 0, result) // refused as blob_gone, it leaves the task running
	case x.Lease != nil:
		w.apply(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 2, External: true})
	}
}

// TestNothingReferencedIsDeleted: users put, submit, finish, rerun and remove while throttled runs go on. Users may act
// at every step of a run. Some runs are superseded in the middle. After a run every disk has every blob that a record
// needs. No run ever asks to drop a blob that a waiting task needed all the time (SPEC M3).
func TestNothingReferencedIsDeleted(t *testing.T) {
	t.Parallel()
	n := *schedules
	if testing.Short() {
		n = 300
	}
	var dropped, halted int64
	for seed := range n {
		d, h := schedule(t, uint64(seed))
		dropped, halted = dropped+d, halted+h
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d schedules: %d blobs and tasks dropped, %d runs halted", n, dropped, halted)
	if dropped < int64(n) || halted < int64(n/20) {
		t.Errorf("the schedules show little: %d dropped, %d runs halted in %d", dropped, halted, n)
	}
}

func schedule(t *testing.T, seed uint64) (dropped, halted int64) {
	w := newWorld(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	w.behavior("default", "brief", func(p *task.Policy) { p.KeepSuccess, p.KeepFailure = 1000*60*30, -1 })
	users := make([]*user, 4)
	for i := range users {
		users[i] = &user{w: w, rng: rng}
	}
	cfg := quick()
	cfg.MinItems = 500
	cfg.Batch = 1 + rng.Int64N(4)
	cfg.Grace = []time.Duration{time.Minute, time.Hour, 3 * time.Hour}[rng.IntN(3)]
	cfg.UnsafeGrace = true
	for range 5 {
		for range rng.IntN(40) {
			users[rng.IntN(len(users))].act()
		}
		w.now += task.Time(rng.Int64N(int64(4 * hour)))
		d, h := throttled(w, rng, users, cfg)
		dropped, halted = dropped+d, halted+h
	}
	return dropped, halted
}

// throttled lets one run go on while the users act. It checks each of the run's commands.
func throttled(w *world, rng *rand.Rand, users []*user, cfg Config) (dropped, halted int64) {
	job := w.begin(rng.IntN(10) == 0)
	needed := w.waiting()
	supersede := -1
	if rng.IntN(5) == 0 {
		supersede = rng.IntN(30)
	}
	calls := 0
	w.meddle = func() {
		if calls++; calls == supersede {
			w.must(task.StartMaintenance{Params: task.Payload{Encoding: task.JSON, Data: []byte("{}")}, Supersede: job.Run})
		}
		for range rng.IntN(4) {
			users[rng.IntN(len(users))].act()
		}
		w.now += task.Time(rng.Int64N(int64(minute)))
		now := w.waiting()
		for n := range needed {
			if !now[n] {
				delete(needed, n)
			}
		}
	}
	w.refuse = func(c task.Command) error {
		if drop, ok := c.(task.DropBlobs); ok {
			for n := range needed {
				if slices.Contains(drop.Digests, n.digest) {
					w.t.Errorf("run %d asks to drop %+v, which was needed all the time", job.Run, n)
				}
			}
		}
		return nil
	}
	before := len(w.carried)
	out, err := New(cfg, w, w, job).Do(w.t.Context())
	w.meddle, w.refuse = nil, nil
	for _, o := range out.Record.Objects {
		dropped += o.Deleted
	}
	switch {
	case errors.Is(err, ErrHalt):
		halted++
	case err != nil || !out.Record.Success:
		w.t.Errorf("run %d: %v, %s", job.Run, err, out.Record.Message)
	case out.Record.DryRun:
		if dropped = 0; len(w.carried) != before+2 {
			w.t.Errorf("a dry run did %d things", len(w.carried)-before)
		}
	}
	if x := w.m.Task(task.MaintenanceKey()); x.Lease != nil && x.Lease.Token == job.Token {
		w.must(task.Finish{Key: task.MaintenanceKey(), Token: job.Token, Seq: 1})
	}
	for d := range w.referenced() {
		for _, member := range w.members {
			if _, ok := w.blobs[member][d]; !ok {
				w.t.Errorf("%s has no file of %s, which is needed", member, d)
			}
		}
	}
	w.check() // it fails when a record needs a blob that is not there
	return dropped, halted
}

// need is a task that is not final, with one of its blobs.
type need struct{ id, digest string }

func (w *world) waiting() map[need]bool {
	needs := map[need]bool{}
	ts, _ := w.m.Tasks(task.Filter{Namespace: "default", Limit: 1000})
	for _, t := range ts {
		for _, p := range []*task.Payload{&t.Params, &t.Result} {
			for d := range p.Digests() {
				if !t.Final() {
					needs[need{t.ID, d}] = true
				}
			}
		}
	}
	return needs
}

// referenced returns the blobs that records need.
func (w *world) referenced() map[string]bool {
	refs := map[string]bool{}
	for b := range w.m.Blobs("") {
		if b.Refs > 0 {
			refs[b.Digest] = true
		}
	}
	return refs
}
