package guard

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

var (
	errInjected = errors.New("injected: no space left on device")
	errCrash    = errors.New("test: crashed")
)

// heldLog is a log in memory whose writes wait for the test.
type heldLog struct {
	*raft.InmemStore
	go1    chan error // one value lets one write go on
	sizes  []int      // the sizes of the writes
	looked func()     // called after each look at the log's end, unless it is nil
}

func (h *heldLog) LastIndex() (uint64, error) {
	last, err := h.InmemStore.LastIndex()
	if h.looked != nil {
		h.looked()
	}
	return last, err
}

func (h *heldLog) StoreLogs(es []*raft.Log) error {
	if err := <-h.go1; err != nil {
		return err
	}
	h.sizes = append(h.sizes, len(es))
	return h.InmemStore.StoreLogs(es)
}

func commands(from, to uint64) (es []*raft.Log) {
	for i := from; i <= to; i++ {
		es = append(es, &raft.Log{Index: i, Term: 7, Type: raft.LogCommand, Data: []byte{byte(i)}})
	}
	return es
}

// waits runs f beside. The function that it returns says whether f has ended, and with what error.
func waits(f func() error) func() (bool, error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() (bool, error) {
		synctest.Wait()
		select {
		case err := <-done:
			return true, err
		default:
			return false, nil
		}
	}
}

// TestParallelLog: a leader's commands are in the log at once. A call that needs them durable waits until they are.
func TestParallelLog(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	type bed struct {
		*parallelLog
		disk    *heldLog
		leading atomic.Bool
	}
	each := func(name string, f func(t *testing.T, b *bed)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bed{disk: &heldLog{InmemStore: raft.NewInmemStore(), go1: make(chan error)}}
				b.parallelLog = newParallelLog(b.disk, b.leading.Load)
				b.leading.Store(true)
				f(t, b)
				close(b.disk.go1) // all writes go on
				b.close()
			})
		})
	}

	each("a leader reads what is pending", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 2)))
		must(t, b.StoreLogs(commands(3, 3)))
		if last, err := b.LastIndex(); last != 3 || err != nil {
			t.Fatal(last, err)
		}
		var e raft.Log
		must(t, b.GetLog(2, &e))
		if e.Index != 2 || e.Term != 7 || e.Data[0] != 2 {
			t.Fatalf("%+v", e)
		}
		if err := b.GetLog(4, &e); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatal(err)
		}
		if d := b.durable(); d != 0 {
			t.Fatalf("durable up to %d", d)
		}
	})

	each("what becomes durable is never missing", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 3)))
		looks := 0
		b.disk.looked = func() { // the write ends during a look at the disk
			if looks++; looks == 1 {
				b.disk.go1 <- nil
				synctest.Wait()
			}
		}
		if last, err := b.LastIndex(); last != 3 || err != nil {
			t.Fatalf("the log ends at %d, %v", last, err)
		}
		must(t, b.StoreLogs(commands(4, 4)))
	})

	each("those who need it durable wait", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 2)))
		synctest.Wait()                      // the first write has begun
		must(t, b.StoreLogs(commands(3, 4))) // these wait for the second write
		waiters := map[string]func() (bool, error){
			"apply": waits(func() error { return b.wait(1) }),
			"first": waits(func() error {
				first, err := b.FirstIndex()
				if first != 1 {
					return fmt.Errorf("first is %d", first)
				}
				return err
			}),
		}
		late := map[string]func() (bool, error){
			"apply": waits(func() error { return b.wait(3) }),
			"noop":  waits(func() error { return b.StoreLog(&raft.Log{Index: 5, Term: 7, Type: raft.LogNoop}) }),
		}
		check := func(what string, ws map[string]func() (bool, error), want bool) {
			t.Helper()
			for name, w := range ws { // order-free: each by itself
				if ended, err := w(); ended != want || err != nil {
					t.Fatalf("%s: %s has ended: %v, %v", what, name, ended, err)
				}
			}
		}
		check("nothing is written", waiters, false)
		check("nothing is written", late, false)
		b.disk.go1 <- nil
		synctest.Wait()
		if d := b.durable(); d != 2 {
			t.Fatalf("durable up to %d", d)
		}
		delete(waiters, "first") // it waits for all that was pending when it asked
		check("the first write is done", waiters, true)
		check("the first write is done", late, false)
		b.disk.go1 <- nil
		b.disk.go1 <- nil // the no-op
		check("all is done", late, true)
		if fmt.Sprint(b.disk.sizes) != "[2 2 1]" {
			t.Fatalf("writes of %v", b.disk.sizes)
		}
	})

	each("a node that leads no more finds nothing that is not durable", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 3)))
		b.leading.Store(false)
		var e raft.Log
		get := waits(func() error { return b.GetLog(2, &e) })
		del := waits(func() error { return b.DeleteRange(3, 3) })
		store := waits(func() error { return b.StoreLogs([]*raft.Log{{Index: 4, Term: 8, Type: raft.LogCommand}}) })
		for _, w := range []func() (bool, error){get, del, store} {
			if ended, _ := w(); ended {
				t.Fatal("did not wait")
			}
		}
		b.disk.go1 <- nil
		if ended, err := get(); !ended || err != nil || e.Index != 2 {
			t.Fatal(ended, err, e)
		}
		if ended, err := del(); !ended || err != nil {
			t.Fatal(ended, err)
		}
		if ended, _ := store(); ended {
			t.Fatal("a follower's entry counts as stored before it is")
		}
		b.disk.go1 <- nil
		if ended, err := store(); !ended || err != nil {
			t.Fatal(ended, err)
		}
	})

	each("a write fails", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 1)))
		wait := waits(func() error { return b.wait(1) })
		b.disk.go1 <- errInjected
		if ended, err := wait(); !ended || !errors.Is(err, errInjected) {
			t.Fatal(ended, err)
		}
		for range 2 {
			if err := b.StoreLogs(commands(2, 2)); !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
		}
		if d := b.durable(); d != 0 {
			t.Fatalf("durable up to %d", d)
		}
	})

	each("abandoned while the disk hangs", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 1)))
		synctest.Wait()
		must(t, b.StoreLogs(commands(2, 2)))
		wait := waits(func() error { return b.wait(2) })
		b.abandon(errCrash)
		if ended, err := wait(); !ended || !errors.Is(err, errCrash) {
			t.Fatal(ended, err)
		}
		b.disk.go1 <- nil
		synctest.Wait()
		if last, _ := b.disk.LastIndex(); last != 1 {
			t.Fatalf("written up to %d", last)
		}
	})

	each("what is stored after that", func(t *testing.T, b *bed) {
		must(t, b.StoreLogs(commands(1, 1)))
		synctest.Wait()
		b.abandon(errCrash)
		b.disk.go1 <- nil // the write still goes through, late
		synctest.Wait()
		for _, es := range [][]*raft.Log{commands(2, 2), {{Index: 2, Type: raft.LogNoop}}} {
			if err := b.StoreLogs(es); !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}
	})

	each("a write that was not put off fails", func(t *testing.T, b *bed) {
		b.leading.Store(false)
		store := waits(func() error { return b.StoreLogs(commands(1, 1)) })
		b.disk.go1 <- errInjected
		if ended, err := store(); !ended || !errors.Is(err, errInjected) {
			t.Fatal(ended, err)
		}
		if err := b.StoreLogs(commands(1, 1)); !errors.Is(err, errInjected) {
			t.Fatalf("tried again: %v", err)
		}
	})

	each("not more than so much waits", func(t *testing.T, b *bed) {
		large := func(i uint64) []*raft.Log {
			return []*raft.Log{{Index: i, Type: raft.LogCommand, Data: make([]byte, maxPending*2/3)}}
		}
		must(t, b.StoreLogs(large(1)))
		second := waits(func() error { return b.StoreLogs(large(2)) })
		if ended, _ := second(); ended {
			t.Fatal("did not wait")
		}
		b.disk.go1 <- nil
		b.disk.go1 <- nil
		if ended, err := second(); !ended || err != nil {
			t.Fatal(ended, err)
		}
	})
}
