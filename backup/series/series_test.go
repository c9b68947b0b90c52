package series

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup"
)

// begin lets a run begin. Its lease is the current one until the next run begins, whether or not it goes on.
func (w *world) begin(s *state, keep int, done chan<- *actor) {
	w.current++
	a := &actor{memory: w.m, w: w, turn: make(chan fate)}
	j := job(w.m, w.current, keep, s)
	j.Alive = func(context.Context) error { return a.step(func() {}) } // the lease may be lost at the moment after it was looked at
	go func() {
		e, err := Series{a, "c1"}.Run(context.Background(), j)
		if err == nil && a.dead {
			w.t.Error("a killed run has ended well")
		}
		w.m.mu.Lock()
		made := w.m.published[e.Name]
		w.m.mu.Unlock()
		if _, after := errors.AsType[*AfterError](err); (err == nil || after) && !made {
			w.t.Errorf("a run says that it has made the backup %q, and it has not", e.Name)
		}
		done <- a
	}()
}

// TestSchedules: whatever runs there are at a time, in whatever order they take their steps, wherever they are killed: every backup that is listed
// is whole, after every step. In the end, undisturbed runs leave what is needed and nothing else (SPEC C8).
func TestSchedules(t *testing.T) {
	t.Parallel()
	seeds := []uint64{}
	for i := range uint64(200) {
		seeds = append(seeds, i)
	}
	if text := os.Getenv("SERIES_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	made, killed, gone := 0, 0, 0
	for _, seed := range seeds {
		m, k, g := schedule(t, seed)
		made, killed, gone = made+m, killed+k, gone+g
		if t.Failed() {
			t.Fatalf("SERIES_SEED=%d", seed)
		}
	}
	t.Logf("%d backups made, %d runs killed, %d blobs deleted", made, killed, gone)
	if len(seeds) > 1 && (made < 100 || killed < 100 || gone < 100) {
		t.Error("the schedules reach too little")
	}
}

func schedule(t *testing.T, seed uint64) (made, killed, gone int) {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), m: newMemory(), waiting: make(chan *actor)}
	done := make(chan *actor)
	contents := []string{"a", "b", "c", "d", "e", "f"}
	some := func() *state {
		w.rng.Shuffle(len(contents), func(i, j int) { contents[i], contents[j] = contents[j], contents[i] })
		return newState(t, contents[:1+w.rng.IntN(3)]...)
	}
	var blocked []*actor
	running, begun, steps := 0, 0, 0
	for begun < 16 || len(blocked) > 0 {
		for len(blocked) < running { // one that had its turn comes to its next step, or to its end
			select {
			case a := <-w.waiting:
				blocked = append(blocked, a)
			case <-done:
				running--
			}
		}
		if w.m.changed {
			w.m.changed = false
			if err := w.m.whole(); err != nil {
				t.Errorf("after a step: %v", err)
				break
			}
		}
		if begun < 16 && (len(blocked) == 0 || w.rng.IntN(60) == 0) {
			begun++
			running++
			w.begin(some(), 2, done)
			continue
		}
		if len(blocked) == 0 {
			continue
		}
		if w.rng.IntN(10) == 0 {
			w.m.pass(time.Minute)
		}
		i := w.rng.IntN(len(blocked))
		a := blocked[i]
		if steps++; a.asleep > steps && len(blocked) > 1 {
			continue
		}
		if w.rng.IntN(12) == 0 {
			a.asleep = steps + w.rng.IntN(150)
		}
		blocked = append(blocked[:i], blocked[i+1:]...)
		f := live
		if w.rng.IntN(120) == 0 {
			f = diesBefore + fate(w.rng.IntN(2))
			killed++
		}
		a.turn <- f
	}
	for len(blocked) > 0 { // after a failure
		blocked[0].turn <- diesBefore
		blocked = blocked[1:]
		running--
		<-done
	}
	made, gone = w.m.count(backups), w.m.gone
	for range 4 { // one fences, the next ones condemn and delete
		w.current++
		w.m.pass(2 * time.Minute)
		if _, err := (Series{w.m, "c1"}).Run(context.Background(), job(w.m, w.current, 2, newState(t, "x", "y"))); err != nil {
			t.Errorf("undisturbed: %v", err)
		}
	}
	if b, s, x, r := w.m.count(backups), w.m.count(states), w.m.count(blobs), w.m.count(runs); b != 2 || s != 2 || x != 2 || r != 0 || w.m.whole() != nil {
		t.Errorf("%d backups, %d states, %d blobs, %d runs are left: %v", b, s, x, r, w.m.whole())
	}
	return made, killed, gone
}

// TestRoundTrip: what is read from a target is a backup with all blobs, and blobs of two backups are stored once.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	m := newMemory()
	s := Series{m, "c1"}
	first, second := newState(t, "a", "b", ""), newState(t, "b", "c", "")
	for i, x := range []*state{first, second} {
		m.pass(time.Hour)
		e, err := s.Run(t.Context(), job(m, uint64(i+1), 5, x))
		if err != nil || e.New != int64(3-2*i) {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	if n := m.count(blobs); n != 4 {
		t.Errorf("%d blobs are stored, want 4", n)
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, x := range []*state{first, second} {
		in := s.Open(t.Context(), all[i], nil)
		v, err := backup.Verify(in, nil)
		in.Close()
		if err != nil || v.End.Blobs != 3 || v.Header.Digest != x.m.Digest().Sum || !v.Header.WithBlobs {
			t.Errorf("%+v, %v", v, err)
		}
	}
	for _, c := range []struct {
		at   time.Time
		want string
		err  error
	}{
		{time.Time{}, all[1].Name, nil}, {m.now, all[1].Name, nil}, {m.now.Add(-time.Minute), all[0].Name, nil}, {m.now.Add(-2 * time.Hour), "", ErrNone},
	} {
		if e, err := s.Find(t.Context(), c.at); e.Name != c.want || !errors.Is(err, c.err) {
			t.Errorf("at %v: %q, %v", c.at, e.Name, err)
		}
	}
	if ids, err := Clusters(t.Context(), m); err != nil || fmt.Sprint(ids) != "[c1]" {
		t.Errorf("%v, %v", ids, err)
	}
}
