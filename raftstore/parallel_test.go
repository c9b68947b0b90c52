package raftstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// heldLog is a log in memory whose writes wait for the test.
type heldLog struct {
	*raft.InmemStore
	go1    chan error // one for each write
	sizes  []int      // of the writes
	looked func()     // after each look at its end; nil: nothing
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

// waits runs f beside and returns whether it has ended, and what it returned.
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

// TestParallelLog: a leader's commands are in the log at once; whoever needs them durable waits until they are.
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
		b.disk.looked = func() { // the write ends while somebody looks at the disk
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
		must(t, b.StoreLogs(commands(3, 4))) // waits for the second
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
		b.disk.go1 <- nil // the write goes through late
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

// TestLeadersDiskIsBehind: nobody hears of an entry, on any node, before it is on the leader's disk, although a majority
// with the leader counts it. Then everybody does; or, if the leader dies first, it is proposed again and happens once.
func TestLeadersDiskIsBehind(t *testing.T) {
	for _, dies := range []bool{false, true} {
		eachLogStore(t, func(t *testing.T, c *cluster) {
			disks := map[string]*faultyDisk{}
			with := withFaultyDisk(disks)
			ms := three(c, func(cfg *Config) { with(cfg); cfg.DiskTimeout = time.Hour })
			leader := c.leader()
			followers := c.followers(leader)
			c.activate(leader.store)
			for _, m := range ms {
				c.has(m.store, "none") // it has caught up
			}
			<-time.After(time.Second)
			index := leader.store.raft.LastIndex()
			c.net.Isolate(followers[1].addr)
			c.net.Reset(leader.addr, followers[1].addr)
			disk := disks[leader.id]
			disk.hang.Store(true)
			release := sync.OnceFunc(func() { close(disk.hold) })
			defer release()
			answers := make(chan error, 2)
			for i, m := range []*member{leader, followers[0]} {
				go func() {
					rs, err := m.store.Propose(ctxFor(t, time.Hour), submit(fmt.Sprint("task", i), task.Fail))
					if err == nil && (rs[0].Code != task.OK || rs[0].Outcome != task.SubmitCreated) {
						err = fmt.Errorf("%+v", rs[0])
					}
					answers <- err
				}()
			}
			<-time.After(time.Second / 2)
			c.net.Rejoin(followers[1].addr) // it is sent entries and commits in another way
			<-time.After(time.Second)
			for _, m := range ms {
				st := m.store.Status()
				if got := m.store.raft.LastIndex(); got <= index {
					t.Fatalf("%s has got nothing: this shows nothing", m.id)
				}
				if st.Commit > index || st.Digest.Index > index {
					t.Fatalf("%s: %+v, and the leader has written up to %d", m.id, st, index)
				}
				if c.has(m.store, "task0") || c.has(m.store, "task1") {
					t.Fatalf("%s shows what is not durable", m.id)
				}
			}
			if len(answers) > 0 {
				t.Fatal("answered")
			}
			if dies {
				disk.fail.Store(true) // what waits for the disk is lost
				c.net.Crash(leader.addr)
				leader.store.fail(errCrash)
				release()
				c.stop(leader)
				<-leader.fatal
				if err := <-answers; err == nil {
					t.Fatal("the dead leader has answered")
				}
				c.start(leader, 3, "n1:1", "n2:1", "n3:1")
			} else {
				disk.hang.Store(false)
				release()
				if err := <-answers; err != nil {
					t.Fatal(err)
				}
			}
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
			c.agree()
			if !dies && !c.has(ms[0].store, "task0") || !c.has(ms[0].store, "task1") {
				t.Fatal("lost")
			}
		})
	}
}

// TestStopsWhileTheDiskHangs: a leader of itself answers nothing that its disk does not have, and when it gives that up, nothing
// waits for the disk but the write that hangs.
func TestStopsWhileTheDiskHangs(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		with := withFaultyDisk(disks)
		m := c.add("n1", func(cfg *Config) { with(cfg); cfg.DiskTimeout = 5 * time.Second })
		s := c.start(m, 1)
		c.leader()
		c.activate(s)
		disk := disks[m.id]
		release := sync.OnceFunc(func() { close(disk.hold) })
		defer release()
		disk.hang.Store(true)
		answer := make(chan error, 1)
		go func() {
			_, err := s.Propose(ctxFor(t, time.Hour), submit("abc", task.Fail))
			answer <- err
		}()
		<-time.After(4 * time.Second)
		if len(answer) > 0 {
			t.Fatal("answered")
		}
		if err := <-m.fatal; !errors.Is(err, ErrDiskStalled) {
			t.Fatal(err)
		}
		if err := <-answer; err == nil {
			t.Fatal("acknowledged")
		}
		err := s.Close(ctxFor(t, time.Minute))
		m.store = nil
		if err == nil || !strings.Contains(err.Error(), "the disk hangs") || strings.Contains(err.Error(), "raft hangs") {
			t.Fatalf("close: %v", err)
		}
	})
}

// TestUnwritableCommand: a command that no log entry can hold is refused at once, and takes nothing of its call or of others with it.
func TestUnwritableCommand(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		large := submit("large", task.Fail) // an entry by itself
		large.Params = task.Payload{Encoding: task.Bytes, Data: make([]byte, maxEntryBytes-1<<10)}
		before := s.raft.LastIndex()
		_, err := s.Propose(ctxFor(t, time.Minute), large, task.DropBlobs{Digests: make([]string, 70_000)})
		if !errors.Is(err, ErrTooLarge) || s.raft.LastIndex() != before || c.has(s, "large") {
			t.Fatalf("%v, %d entries", err, s.raft.LastIndex()-before)
		}
		c.propose(s, large)
	})
}
