package worker

import (
	"errors"
	"reflect"
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
