package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " | "), strings.Join(want, " | "))
	}
}

func TestChangesComeInOrderWithTheirRevs(t *testing.T) {
	b := newBed(t, Config{})
	base := b.m.Rev()
	s := b.subscribe(Filter{}, base)
	b.submit("one", behavior)
	b.assign("one")
	b.finish("one")
	b.must(task.Remove{Key: task.Key{Namespace: "default", ID: "one"}})
	b.flush()
	at := func(text string, n uint64) string { return fmt.Sprintf("%s @%d", text, base+n) }
	all := []string{
		at("task one CREATED", 1), at("task one RUNNING", 2), at("task one SUCCESS", 3), at("removed one SUCCESS", 4),
	}
	want(t, b.drain(s), all...)
	if s.Position() != base+4 {
		t.Errorf("position %d", s.Position())
	}
	// A subscriber gets everything after its rev, once. A removal has a rev of its own.
	for n := range uint64(5) {
		want(t, b.drain(b.subscribe(Filter{}, base+n)), all[n:]...)
	}
}

func TestFilters(t *testing.T) {
	b := newBed(t, Config{})
	base := b.m.Rev()
	subs := map[string]*Sub{
		"id":       b.subscribe(Filter{IDs: []string{"one", "xxx"}}, base),
		"behavior": b.subscribe(Filter{Behavior: "b.two"}, base),
		"status":   b.subscribe(Filter{Status: task.Running}, base),
		"both":     b.subscribe(Filter{IDs: []string{"one"}, Behavior: "b.two"}, base),
		"parent":   b.subscribe(Filter{Parent: "nobody"}, base),
	}
	other, err := b.feed.Subscribe(Filter{Namespace: "_system"}, base)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	subs["namespace"] = other
	b.submit("one", behavior)
	b.submit("two", "b.two")
	b.assign("two")
	b.flush()
	for name, w := range map[string][]string{
		"id": {"one CREATED"}, "behavior": {"two CREATED", "two RUNNING"}, "status": {"two RUNNING"}, "both": nil, "parent": nil,
		"namespace": nil,
	} {
		var got []string
		for _, x := range b.drain(subs[name]) {
			fields := strings.Fields(x)
			got = append(got, strings.Join(fields[1:3], " "))
		}
		if !slices.Equal(got, w) {
			t.Errorf("%s: %q, want %q", name, got, w)
		}
		if p := subs[name].Position(); p != b.m.Rev() {
			t.Errorf("%s: position %d, want %d: what it did not want is behind it too", name, p, b.m.Rev())
		}
	}
}

func TestWhoFallsBehindIsToldTheStateAndGoesOn(t *testing.T) {
	b := newBed(t, Config{Entries: 4})
	base := b.m.Rev()
	slow, idle := b.subscribe(Filter{}, base), b.subscribe(Filter{IDs: []string{"t00"}}, base)
	for i := range 6 {
		b.submit(fmt.Sprintf("t%02d", i), behavior)
	}
	b.flush()
	want(t, b.drain(idle), "reset", fmt.Sprintf("task t00 CREATED @%d", base+6))
	first, _ := slow.Try()
	if p := slow.Position(); p != 0 {
		t.Errorf("position %d between reset and the last state: a node with a longer memory would go on there", p)
	}
	got := append([]string{b.short(first)}, b.drain(slow)...)
	want(t, got, "reset", "task t00 CREATED", "task t01 CREATED", "task t02 CREATED", "task t03 CREATED", "task t04 CREATED",
		fmt.Sprintf("task t05 CREATED @%d", base+6))
	// A subscriber whose filter matches no change never falls behind.
	for i := range 10 {
		b.submit(fmt.Sprintf("u%02d", i), behavior)
		b.flush()
		b.drain(slow)
	}
	b.assign("t00")
	b.flush()
	want(t, b.drain(idle), fmt.Sprintf("task t00 RUNNING @%d", b.m.Rev()))
	// Three revs are not in the ring: two that the ring has no more, and one of another history. Last, no task matches
	// the filter.
	for _, after := range []uint64{0, base, 1 << 40} {
		want(t, b.drain(b.subscribe(Filter{IDs: []string{"t00"}}, after)), "reset", fmt.Sprintf("task t00 RUNNING @%d", b.m.Rev()))
	}
	want(t, b.drain(b.subscribe(Filter{IDs: []string{"nobody"}}, 0)), fmt.Sprintf("reset @%d", b.m.Rev()))
}

func TestWhatChangesWhileTheStateIsToldComesOnce(t *testing.T) {
	b := newBed(t, Config{Entries: 1 << 12})
	for i := range 3 * statesPage {
		b.submit(fmt.Sprintf("t%04d", i), behavior)
	}
	b.flush()
	b.feed.Restart(b.m.Rev())
	at := b.m.Rev()
	s := b.subscribe(Filter{}, 0)
	got := []string{}
	for range 10 {
		e, _ := s.Try()
		got = append(got, b.short(e))
		if p := s.Position(); p != 0 {
			t.Fatalf("position %d between reset and the last state", p)
		}
	}
	b.assign("t0000") // this task is told already
	b.assign("t0700") // this task is not told yet
	b.must(task.Remove{Key: task.Key{Namespace: "default", ID: "t0701"}})
	b.submit("t9999", behavior)
	b.flush()
	got = append(got, b.drain(s)...)
	if len(got) != 1+3*statesPage-2+4 {
		t.Fatalf("%d events", len(got))
	}
	if slices.Contains(got, "task t0700 CREATED") || slices.Contains(got, "task t0701 CREATED") {
		t.Error("a state that had changed was told")
	}
	// Only the last event has an ID. A subscriber that breaks off before it starts again from the beginning.
	want(t, got[len(got)-5:], "task t0767 CREATED", "task t0000 RUNNING", "task t0700 RUNNING", "removed t0701 CREATED",
		fmt.Sprintf("task t9999 CREATED @%d", at+4))
	if p := s.Position(); p != at+4 {
		t.Errorf("position %d, want %d", p, at+4)
	}
	b.finish("t0700")
	b.flush()
	want(t, b.drain(s), fmt.Sprintf("task t0700 SUCCESS @%d", at+5))
}

// TestProgressWhileTheStateIsTold: a record makes only progress while the state is told. It is told as a change, not as
// state, because its progress alone would not tell the record.
func TestProgressWhileTheStateIsTold(t *testing.T) {
	b := newBed(t, Config{})
	for i := range statesPage + 2 {
		b.submit(fmt.Sprintf("t%04d", i), behavior)
	}
	last := fmt.Sprintf("t%04d", statesPage+1)
	b.assign(last)
	b.flush()
	b.feed.Restart(b.m.Rev())
	s := b.subscribe(Filter{}, 0)
	s.Try()
	b.progress(last, `1`)
	b.progress(last, `2`)
	b.flush()
	got := b.drain(s)
	want(t, got[len(got)-3:], fmt.Sprintf("task t%04d CREATED", statesPage), "task "+last+" RUNNING",
		fmt.Sprintf("task %s RUNNING @%d", last, b.m.Rev()))
}

func TestRestartResetsEverybody(t *testing.T) {
	b := newBed(t, Config{})
	s := b.subscribe(Filter{}, b.m.Rev())
	b.submit("one", behavior)
	b.waiting = nil // the events are lost: a snapshot replaced the machine
	b.feed.Restart(b.m.Rev())
	want(t, b.drain(s), "reset", fmt.Sprintf("task one CREATED @%d", b.m.Rev()))
	// Events that the state at the restart already contains are not told again.
	b.submit("two", behavior)
	b.feed.Restart(b.m.Rev())
	b.drain(s)
	b.flush()
	want(t, b.drain(s))
}

func TestTheRingIsBoundedInBytes(t *testing.T) {
	b := newBed(t, Config{Bytes: 1 << 20})
	base := b.m.Rev()
	for i := range 100 {
		b.must(task.Submit{Namespace: "default", ID: fmt.Sprintf("t%02d", i), Behavior: behavior, Priority: 4,
			Params: task.Payload{Encoding: task.Bytes, Data: make([]byte, 60<<10)}, HasParams: true})
		b.flush()
		if n := b.feed.ring.records.bytes; n > 3<<18 {
			t.Fatalf("%d bytes", n)
		}
	}
	r := &b.feed.ring
	if kept := r.next - r.first; kept != 12 || r.floor != base+88 {
		t.Errorf("%d changes kept, floor %d", kept, r.floor)
	}
	want(t, b.drain(b.subscribe(Filter{}, base+98)), fmt.Sprintf("task t98 CREATED @%d", base+99), fmt.Sprintf("task t99 CREATED @%d", base+100))
}

func TestJSONIsMadeOnceForAll(t *testing.T) {
	b := newBed(t, Config{})
	var subs []*Sub
	for range 50 {
		subs = append(subs, b.subscribe(Filter{}, b.m.Rev()))
	}
	b.submit("one", behavior)
	b.flush()
	for _, s := range subs {
		if got := b.drain(s); len(got) != 1 {
			t.Fatal(got)
		}
	}
	if b.encoded != 1 {
		t.Errorf("encoded %d times", b.encoded)
	}
}

func TestSubscribersAreLimited(t *testing.T) {
	b := newBed(t, Config{Subscribers: 2})
	s := b.subscribe(Filter{}, 0)
	b.subscribe(Filter{}, 0)
	if _, err := b.feed.Subscribe(Filter{Namespace: "default"}, 0); !errors.Is(err, ErrTooMany) {
		t.Errorf("a third: %v", err)
	}
	s.Close()
	s.Close()
	b.subscribe(Filter{}, 0).Close()
	b.feed.Close()
	if _, err := b.feed.Subscribe(Filter{Namespace: "default"}, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if len(b.feed.subs) != 1 || len(b.feed.index.all["default"]) != 1 {
		t.Errorf("%d subscribers, %d in the index", len(b.feed.subs), len(b.feed.index.all["default"]))
	}
}

// TestNamedIDsAreLimited: a few subscribers that name thousands of tasks each take as much memory as thousands of
// subscribers that name one task.
func TestNamedIDsAreLimited(t *testing.T) {
	b := newBed(t, Config{IDs: 4})
	s := b.subscribe(Filter{IDs: []string{"one", "two", "six"}}, 0)
	if _, err := b.feed.Subscribe(Filter{Namespace: "default", IDs: []string{"one", "ten"}}, 0); !errors.Is(err, ErrTooMany) {
		t.Errorf("two more: %v", err)
	}
	b.subscribe(Filter{IDs: []string{"ten"}}, 0)
	b.subscribe(Filter{}, 0)
	s.Close()
	s.Close()
	b.subscribe(Filter{IDs: []string{"one", "two", "six"}}, 0)
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{})
		s := b.subscribe(Filter{Status: task.Running}, b.m.Rev())
		type answer struct {
			e   Event
			err error
		}
		answers := make(chan answer, 1)
		ctx, cancel := context.WithCancel(t.Context())
		next := func() {
			e, err := s.Next(ctx)
			answers <- answer{e, err}
		}
		go next()
		synctest.Wait()
		b.submit("one", behavior)
		b.flush()
		synctest.Wait()
		if len(answers) > 0 {
			t.Fatal("an event that it does not want")
		}
		b.assign("one")
		b.flush()
		if a := <-answers; a.err != nil || a.e.Kind != Task {
			t.Errorf("%+v", a)
		}
		go next()
		synctest.Wait()
		cancel()
		if a := <-answers; !errors.Is(a.err, context.Canceled) {
			t.Errorf("%v", a.err)
		}
		ctx = t.Context()
		go next()
		synctest.Wait()
		b.feed.Close()
		if a := <-answers; !errors.Is(a.err, ErrClosed) {
			t.Errorf("%v", a.err)
		}
	})
}

func TestProgressIsThinnedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{})
		b.submit("one", behavior)
		token := b.assign("one").Lease.Token
		b.flush()
		s := b.subscribe(Filter{}, b.m.Rev())
		live := func(text string) {
			b.feed.Live([]Live{{Key: task.Key{Namespace: "default", ID: "one"}, Session: b.session, Token: token,
				Progress: task.Payload{Encoding: task.JSON, Data: []byte(text)}}})
		}
		live(`1`)
		want(t, b.drain(s), "progress one 1")
		for i := range 24 { // one every 10 ms
			live(fmt.Sprint(2 + i))
			time.Sleep(10 * time.Millisecond)
		}
		want(t, b.drain(s))
		time.Sleep(20 * time.Millisecond)
		want(t, b.drain(s), "progress one 25")
		// The renewal stores the same progress, which is no news.
		b.progress("one", `25`)
		b.flush()
		time.Sleep(time.Second)
		want(t, b.drain(s))
		// A slow reader is told only the latest progress.
		for i := range 5 {
			live(fmt.Sprint(100 + i))
			time.Sleep(300 * time.Millisecond)
		}
		want(t, b.drain(s), "progress one 104")
		// A later subscriber is not told old progress. A dead token says nothing.
		late := b.subscribe(Filter{}, b.m.Rev()-1)
		want(t, b.drain(late))
		token++
		live(`7`)
		time.Sleep(time.Second)
		want(t, b.drain(s))
		token--
		// Progress that still waits is dropped when the attempt ends.
		live(`8`)
		live(`9`)
		b.finish("one")
		b.flush()
		time.Sleep(time.Second)
		want(t, b.drain(s), "progress one 8", fmt.Sprintf("task one SUCCESS @%d", b.m.Rev()))
		if len(b.feed.beats.tasks) != 0 || len(b.feed.beats.queue) != 0 {
			t.Errorf("left: %d tasks, %d in the queue", len(b.feed.beats.tasks), len(b.feed.beats.queue))
		}
	})
}

func TestStoredProgressIsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{})
		b.submit("one", behavior)
		b.assign("one")
		b.flush()
		s := b.subscribe(Filter{}, b.m.Rev())
		b.progress("one", `1`)
		b.flush()
		want(t, b.drain(s), "progress one 1")
		if s.Position() != b.m.Rev() {
			t.Errorf("position %d, want %d", s.Position(), b.m.Rev())
		}
		// A beat with a checkpoint is more than progress.
		rec := b.get("one")
		b.must(task.Beat{Key: rec.Key(), Token: rec.Lease.Token, Seq: rec.Lease.Report + 1,
			Progress:   &task.Payload{Encoding: task.JSON, Data: []byte(`2`)},
			Checkpoint: &task.Payload{Encoding: task.Bytes, Data: []byte("c")}})
		b.flush()
		want(t, b.drain(s), fmt.Sprintf("task one RUNNING @%d", b.m.Rev()))
	})
}

func TestOutcomes(t *testing.T) {
	rec := func(st task.Status, attempt int64, e *task.Error) *task.Task {
		return &task.Task{Status: st, Attempt: attempt, NotBefore: 1, Error: e}
	}
	one, two := &task.Error{Code: "A"}, &task.Error{Code: task.CodeCancelled}
	for name, c := range map[string]struct {
		prev, next *task.Task
		want       bool
	}{
		"a run ends":              {rec(task.Running, 1, nil), rec(task.Success, 1, nil), true},
		"a run fails":             {rec(task.Running, 1, nil), rec(task.Failure, 1, one), true},
		"cancelled before it ran": {rec(task.Created, 0, nil), rec(task.Failure, 0, two), true},
		"cancelled after failing": {rec(task.Failure, 1, one), rec(task.Failure, 1, two), true},
		"cancelled after success": {rec(task.Success, 1, nil), rec(task.Failure, 1, two), true},
		"moved":                   {rec(task.Failure, 1, one), rec(task.Failure, 1, one), false},
		"a repeat moved":          {rec(task.Success, 1, nil), rec(task.Success, 1, nil), false},
		"leased":                  {rec(task.Success, 1, nil), rec(task.Running, 2, nil), false},
		"lost":                    {rec(task.Running, 1, nil), rec(task.Created, 1, nil), false},
		"created":                 {nil, rec(task.Created, 0, nil), false},
	} {
		if got := Outcome(c.prev, c.next); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHistory(t *testing.T) {
	b := newBed(t, Config{Entries: 4})
	base := b.m.Rev()
	b.submit("one", behavior)
	b.assign("one")
	b.finish("one")
	b.flush()
	any := func(*task.Task) bool { return true }
	key := task.Key{Namespace: "default", ID: "one"}
	if got, covered := b.feed.History(key, base+1, any); got == nil || got.Rev != base+3 || !covered {
		t.Errorf("%+v, %v", got, covered)
	}
	if got, covered := b.feed.History(key, base+3, any); got != nil || !covered {
		t.Errorf("%+v, %v", got, covered)
	}
	for i := range 4 {
		b.submit(fmt.Sprintf("t%02d", i), behavior)
	}
	b.flush()
	if got, covered := b.feed.History(key, base+1, any); got != nil || covered {
		t.Errorf("%+v, %v", got, covered)
	}
}

// TestAChangeWhileFallingAsleep: a change may come after a look that found nothing and before the decision to wait.
func TestAChangeWhileFallingAsleep(t *testing.T) {
	b := newBed(t, Config{})
	s := b.subscribe(Filter{}, b.m.Rev())
	b.submit("one", behavior)
	b.flush()
	want(t, []string{fmt.Sprint(len(b.drain(s)))}, "1")
	b.submit("two", behavior)
	b.flush()
	s.Try()
	if s.scan() {
		t.Fatal("something to look at")
	}
	b.submit("three", behavior)
	b.flush()
	if s.rest() {
		t.Error("it waits, and has not looked at the last change")
	}
	want(t, b.drain(s), fmt.Sprintf("task three CREATED @%d", b.m.Rev()))
}

func TestWhatIsTakenAtOnceIsBounded(t *testing.T) {
	b := newBed(t, Config{})
	s := b.subscribe(Filter{}, b.m.Rev())
	small := b.subscribe(Filter{}, b.m.Rev())
	for i := range 100 {
		b.must(task.Submit{Namespace: "default", ID: fmt.Sprintf("t%02d", i), Behavior: behavior, Priority: 4,
			Params: task.Payload{Encoding: task.Bytes, Data: make([]byte, 60<<10)}, HasParams: true})
	}
	b.flush()
	if s.Try(); len(s.ready) > 1 {
		t.Errorf("%d large changes held beside the one that was handed out", len(s.ready))
	}
	b.feed.Restart(b.m.Rev())
	b.drain(small)
	for i := range 100 {
		b.submit(fmt.Sprintf("u%02d", i), behavior)
	}
	b.flush()
	if small.Try(); len(small.ready) != maxReady-1 {
		t.Errorf("%d small changes held", len(small.ready))
	}
}
