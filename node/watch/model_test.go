package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// reader subscribes as a client does: it reads when it likes, breaks off, and comes back with the last ID that it saw.
type reader struct {
	filter Filter
	sub    *Sub
	last   uint64
	known  map[string]said // the latest version of every task
	finals map[uint64]int  // rev of a final version → how often the reader was told
	resets int
}

// TestRandomReaders makes random changes in a random order, with readers of any speed and rings of any size. In the end
// a reader knows the present state of everything. It was told every final version, except those that it learned from a
// reset. It was told none twice, except by a reset. Revs never fall.
func TestRandomReaders(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 60
	}
	resets := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { resets += randomReaders(t, uint64(seed)) })
	}
	if resets < seeds/4 {
		t.Errorf("only %d resets: the test does not test them", resets)
	}
}

func randomReaders(t *testing.T, seed uint64) (resets int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	b := newBed(t, Config{Entries: []int{1, 2, 5, 20, 500}[rng.IntN(5)]})
	finals := map[uint64]said{} // every final version that existed
	filters := []Filter{
		{}, {Status: task.Success}, {Behavior: behavior}, {IDs: []string{"t00", "t03"}}, {IDs: []string{"t01"}, Behavior: "b.two"},
	}
	var readers []*reader
	for _, f := range filters {
		f.Namespace = "default"
		readers = append(readers, &reader{filter: f, last: b.m.Rev(), known: map[string]said{}, finals: map[uint64]int{}})
	}
	for range 400 {
		switch n := rng.IntN(100); {
		case n < 50:
			change(b, rng, finals)
		case n < 70:
			b.flush()
		case n < 71:
			b.waiting = nil // the subscription to the machine broke
			b.feed.Restart(b.m.Rev())
		default:
			r := readers[rng.IntN(len(readers))]
			r.step(t, b, rng)
		}
	}
	b.flush()
	for _, r := range readers {
		if r.sub == nil {
			r.open(b)
		}
		for r.read(t) {
		}
		r.check(t, b, finals)
		resets += r.resets
		r.sub.Close()
	}
	return resets
}

func change(b *bed, rng *rand.Rand, finals map[uint64]said) {
	id := fmt.Sprintf("t%02d", rng.IntN(6))
	t := b.get(id)
	switch {
	case t == nil:
		b.submit(id, []string{behavior, "b.two"}[rng.IntN(2)])
	case rng.IntN(6) == 0:
		b.must(task.Remove{Key: t.Key()})
	case t.Status == task.Running && rng.IntN(3) == 0:
		b.progress(id, fmt.Sprint(rng.IntN(100)))
	case t.Status == task.Running:
		b.finish(id)
	case t.Final():
		b.must(task.Submit{Namespace: "default", ID: id, Behavior: t.Behavior, Priority: 4, IfExists: task.Rerun})
	default:
		b.assign(id)
	}
	if t = b.get(id); t != nil && t.Final() {
		finals[t.Rev] = said{ID: t.ID, Rev: t.Rev, Status: t.Status.String(), Final: true}
	}
}

func (r *reader) step(t *testing.T, b *bed, rng *rand.Rand) {
	switch n := rng.IntN(10); {
	case r.sub == nil:
		r.open(b)
	case n == 0:
		r.sub.Close()
		r.sub = nil
	case n == 1:
		if p := r.sub.Position(); p > r.last {
			r.last = p // as a heartbeat tells the position
		}
	default:
		for range 1 + rng.IntN(10) {
			if !r.read(t) {
				return
			}
		}
	}
}

func (r *reader) open(b *bed) { r.sub = b.subscribe(r.filter, r.last) }

func (r *reader) read(t *testing.T) bool {
	e, ok := r.sub.Try()
	if !ok {
		return false
	}
	var d said
	if err := json.Unmarshal(e.Data, &d); err != nil {
		t.Fatal(err)
	}
	if e.Kind == Reset {
		r.last = 0
	}
	if e.ID != 0 {
		if e.ID <= r.last {
			t.Fatalf("%s: ID %d after %d", e.Data, e.ID, r.last)
		}
		r.last = e.ID
	}
	switch e.Kind {
	case Reset:
		r.resets++
		r.known = map[string]said{}
	case Removed:
		delete(r.known, d.ID)
	case Progress:
		if e.ID != 0 {
			t.Fatalf("progress with ID %d", e.ID)
		}
	case Task:
		if old := r.known[d.ID]; old.Rev >= d.Rev {
			t.Fatalf("%s after rev %d", e.Data, old.Rev)
		}
		r.known[d.ID] = d
		if d.Final {
			r.finals[d.Rev]++
		}
	}
	return true
}

func (r *reader) check(t *testing.T, b *bed, finals map[uint64]said) {
	t.Helper()
	for i := range 6 {
		rec := b.get(fmt.Sprintf("t%02d", i))
		if rec == nil || !r.filter.matches(rec) {
			continue
		}
		// A version whose only news is progress is not told as a version.
		if got := r.known[rec.ID]; got.Status != rec.Status.String() || got.Rev > rec.Rev || rec.Final() && got.Rev != rec.Rev {
			t.Errorf("%+v: knows %+v, is %+v", r.filter, got, rec)
		}
	}
	if r.resets > 0 {
		return
	}
	for rev, d := range finals {
		full := &task.Task{Namespace: "default", ID: d.ID, Status: task.Success}
		full.Behavior = r.filter.Behavior // unknown here; the state above checks a filter by behavior
		if r.filter.Behavior == "" && r.filter.matches(full) && r.finals[rev] != 1 {
			t.Errorf("%+v: final %+v told %d times", r.filter, d, r.finals[rev])
		}
	}
}
