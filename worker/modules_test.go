package worker

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/worker/stream"
)

func prepare(digests ...string) stream.Frame {
	var f stream.Frame
	for _, d := range digests {
		f.Prepare = append(f.Prepare, stream.Module{Digest: d})
	}
	return f
}

func TestPreparedModulesAreAnnounced(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.send(prepare(digest, digest))
		b.send(prepare(digest))
		b.at(time.Millisecond)
		if !reflect.DeepEqual(b.lastReady(), []string{digest}) || b.loaded() != 1 {
			t.Errorf("ready %v, %d loads", b.lastReady(), b.loaded())
		}
		b.assign(7)
		b.assign(8)
		b.at(2 * time.Second)
		if _, ended := b.runs(); ended != 2 || b.loaded() != 1 {
			t.Errorf("%d ended, %d loads", ended, b.loaded())
		}
	})
}

func TestModuleThatCannotBeHad(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		fetches := 0
		b.bmu.Lock()
		b.fetch = func(string) ([]byte, error) {
			if fetches++; fetches <= 5 {
				return nil, errors.New("nobody has it")
			}
			return wasm, nil
		}
		b.bmu.Unlock()
		b.assign(7)
		b.at(time.Second)
		reps, at := b.reports()
		if len(reps) != 1 || reps[0].GiveBack == nil || at[0] > 700*time.Millisecond {
			t.Fatalf("reports %+v at %v", reps, at)
		}
		if len(b.lastReady()) != 0 {
			t.Errorf("ready %v", b.lastReady())
		}
		b.at(5 * time.Second) // the worker goes on trying by itself
		if !reflect.DeepEqual(b.lastReady(), []string{digest}) {
			t.Errorf("ready %v", b.lastReady())
		}
	})
}

// TestMakingIsTold: the leader is told how far the worker is with a module that is not ready, why the last try failed, and that this is over;
// also over another connection (SPEC Q4).
func TestMakingIsTold(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		fetches, open := 0, make(chan struct{})
		b.bmu.Lock()
		b.fetch = func(string) ([]byte, error) {
			if fetches++; fetches <= 2 {
				return nil, errors.New("n2: connection refused\nn3: " + strings.Repeat("\xffx", 1000))
			}
			b.bmu.Unlock()
			<-open
			b.bmu.Lock()
			return wasm, nil
		}
		b.bmu.Unlock()
		b.send(prepare(digest))
		b.at(100 * time.Millisecond)
		u := b.lastUnready()
		if u.Module != digest || u.Step != stream.Pausing || u.Failed != 1 || !u.Valid() || !strings.Contains(u.Error, ": n2: connection refused n3: ") {
			t.Errorf("after a try: %+v", u)
		}
		b.at(5 * time.Second)
		if u := b.lastUnready(); u.Step != stream.Fetching || u.Failed != 2 || u.For != 0 {
			t.Errorf("while it is fetched: %+v", u)
		}
		b.cut()
		b.heal()
		b.at(9 * time.Second)
		if u := b.lastUnready(); u.Step != stream.Fetching || u.Failed != 2 || u.For < 4000 {
			t.Errorf("over another connection: %+v", u)
		}
		close(open)
		b.at(10 * time.Second)
		if u := b.lastUnready(); u != (stream.Unready{Module: digest}) || !slices.Equal(b.lastReady(), []string{digest}) {
			t.Errorf("when it is ready: %+v", u)
		}
	})
}

// TestWrongBytesAreNotRun: the digest decides whether bytes are right, whoever sends them (SPEC B3).
func TestWrongBytesAreNotRun(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.bmu.Lock()
		b.fetch = func(string) ([]byte, error) { return []byte("something else"), nil }
		b.bmu.Unlock()
		b.send(prepare(digest))
		b.assign(7)
		b.at(10 * time.Second)
		if reps, _ := b.reports(); len(reps) != 1 || reps[0].GiveBack == nil {
			t.Errorf("reports %+v", reps)
		}
		if b.loaded() != 0 || len(b.lastReady()) != 0 {
			t.Errorf("%d loads, ready %v", b.loaded(), b.lastReady())
		}
		if begun, _ := b.runs(); begun != 0 {
			t.Errorf("%d ran", begun)
		}
		_, err := b.worker.modules.load(b.t.Context(), stream.Module{Digest: digest})
		if !errors.Is(err, ErrDigest) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPreparingIsBounded: only a limited number of modules compile at a time, and no load waits for another module's
// failure.
func TestPreparingIsBounded(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		var now, most int
		b.bmu.Lock()
		b.fetch = func(string) ([]byte, error) {
			now++
			most = max(most, now)
			b.bmu.Unlock()
			time.Sleep(time.Second)
			b.bmu.Lock()
			now--
			return nil, errors.New("nobody has it")
		}
		b.bmu.Unlock()
		b.send(prepare("a", "b", "c", "d", "e"))
		b.at(20 * time.Second)
		b.bmu.Lock()
		defer b.bmu.Unlock()
		if most != 2 {
			t.Errorf("%d at the same time", most)
		}
	})
}
