package raftstore

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

func TestLaneOf(t *testing.T) {
	t.Parallel()
	submit, finish := task.Proposal{Command: task.Submit{}}, task.Proposal{Command: task.Finish{}}
	for _, tc := range []struct {
		name string
		ps   []task.Proposal
		want lane
	}{
		{"submits", []task.Proposal{submit, submit}, loadLane},
		{"a report among submits", []task.Proposal{submit, finish}, urgentLane},
		{"records", []task.Proposal{{Command: task.StoreUpdate{}}, {Command: task.StoreClaim{}}}, loadLane},
		{"an operation", []task.Proposal{{Command: task.StartOperation{}}}, loadLane},
		{"an import", []task.Proposal{{Command: task.ImportRecords{}}}, loadLane},
		{"a transaction", []task.Proposal{{Command: task.Txn{Submits: []task.Submit{{}}}}}, loadLane},
		{"a report with children", []task.Proposal{{Command: task.Txn{Submits: []task.Submit{{}}, Finishes: []task.Finish{{}}}}}, urgentLane},
		{"assignments", []task.Proposal{{Command: task.Assign{}}}, urgentLane},
		{"the clock", []task.Proposal{{Command: task.Tick{}}}, urgentLane},
		{"a worker's sign of life", []task.Proposal{{Command: task.RenewSession{}}}, urgentLane},
	} {
		if got := laneOf(tc.ps); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// add queues n submits as one call.
func (b batchTest) add(t *testing.T, n int) (*call, chan *call, error) {
	t.Helper()
	c, done := submits(t, n)
	return c, done, b.submit(c)
}

// submits makes a call of n submits.
func submits(t *testing.T, n int) (*call, chan *call) {
	t.Helper()
	done := make(chan *call, 1)
	return callOf(t, n, 0, func(i int, pad string) task.Command { return task.Submit{Namespace: pad, ID: fmt.Sprint(i)} }, func(c *call) { done <- c }), done
}

func (b batchTest) mustAdd(t *testing.T, n int) (*call, chan *call) {
	t.Helper()
	c, done, err := b.add(t, n)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c, done
}

// within waits for the end of a call, but not for ever: the batcher's timer keeps a bubble alive.
func (b batchTest) within(t *testing.T, done chan *call) *call {
	t.Helper()
	select {
	case c := <-done:
		return c
	case <-time.After(2 * b.queueAge):
		t.Fatal("a call was not answered")
		return nil
	}
}

// counts returns how many reports and submits the last entry in flight has.
func (r *heldRaft) counts() (reports, submits int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.held[len(r.held)-1].proposals {
		if _, is := p.Command.(task.Submit); is {
			submits++
		} else {
			reports++
		}
	}
	return reports, submits
}

// TestReportsGoFirst: reports go before all waiting submits. Yet a flood of reports leaves a quarter of an entry to
// submits.
func TestReportsGoFirst(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		for range maxInFlight {
			b.mustAdd(t, maxCommands)
		}
		b.mustAdd(t, 2*maxCommands)
		next := func() (int, int) {
			b.raft.answer(nil)
			synctest.Wait()
			return b.raft.counts()
		}
		b.put(t, 10, 0)
		if reports, submits := next(); reports != 10 || submits != maxCommands-10 {
			t.Fatalf("%d reports, %d submits", reports, submits)
		}
		b.put(t, 5000, 0)
		if reports, submits := next(); reports != urgentCommands || submits != maxCommands-urgentCommands {
			t.Fatalf("%d reports, %d submits", reports, submits)
		}
		for b.lanes[urgentLane].commands+b.lanes[loadLane].commands > 0 {
			next()
		}
		for range maxInFlight { // some entries are still in flight
			b.mustAdd(t, maxCommands)
		}
		b.put(t, 3, 200<<10) // two of them fit into a group, but not into its part for reports
		for b.lanes[urgentLane].commands == 3 {
			next()
		}
		if _, submits := b.raft.counts(); b.lanes[urgentLane].commands != 2 || submits == 0 {
			t.Fatalf("%d large reports are left, %d submits", b.lanes[urgentLane].commands, submits)
		}
	})
}

// TestReportsAreNotRefused: reports are taken, however many submits wait.
func TestReportsAreNotRefused(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		for range maxInFlight {
			b.mustAdd(t, maxCommands)
		}
		var err error
		for err == nil {
			_, _, err = b.add(t, 500)
		}
		if !errors.Is(err, ErrOverloaded) || b.lanes[loadLane].commands > alwaysTaken {
			t.Fatalf("%d wait: %v", b.lanes[loadLane].commands, err)
		}
		if _, _, err := b.add(t, 500); !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		}
		b.put(t, 9000, 0)
	})
}

// TestExpectedWait offers ten times the load that the log takes. As much as the log takes is admitted, and it waits no
// longer than it may.
func TestExpectedWait(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.maxCommands = 1 << 30
		const cycle, callSize, seconds = 10 * time.Millisecond, 64, 2
		type offered struct {
			at   time.Time
			done chan *call
		}
		var waiting []offered
		admitted, refused, worst := 0, 0, time.Duration(0)
		next, done := submits(t, callSize) // what is refused is offered again: making it takes most of the time
		for range seconds * int(time.Second/cycle) {
			for range 10 * maxCommands / callSize {
				switch err := b.submit(next); {
				case err == nil:
					admitted += callSize
					waiting = append(waiting, offered{time.Now(), done})
					next, done = submits(t, callSize)
				case errors.Is(err, ErrOverloaded):
					refused += callSize
				default:
					t.Fatal(err)
				}
			}
			time.Sleep(cycle) // the bubble's time
			b.raft.answer(nil)
			synctest.Wait()
			for len(waiting) > 0 && len(waiting[0].done) > 0 {
				if c := <-waiting[0].done; c.err != nil {
					t.Fatal(c.err)
				}
				worst = max(worst, time.Since(waiting[0].at))
				waiting = waiting[1:]
			}
		}
		takes := seconds * int(time.Second/cycle) * maxCommands
		if limit := b.queueWait + (maxInFlight+2)*cycle; worst > limit {
			t.Errorf("something admitted waited for %v, more than %v", worst, limit)
		}
		if admitted < takes*95/100 || refused < takes*8 {
			t.Errorf("%d admitted, %d refused; the log takes %d", admitted, refused, takes)
		}
	})
}

// TestStaleIsRefused: while nothing moves, a waiting submit is answered in time and is never proposed. Reports wait on.
func TestStaleIsRefused(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		_, flying := b.mustAdd(t, 1)
		half, halfDone := b.mustAdd(t, 3*maxCommands+10) // no entry has the last 10
		if half.next != 3*maxCommands {
			t.Fatalf("%d in flight", half.next)
		}
		b.raft.mu.Lock()
		inFlight := len(b.raft.held)
		b.raft.mu.Unlock()
		begun := time.Now()
		_, stale := b.mustAdd(t, 100)
		_, report := b.put(t, 1, 0)
		time.Sleep(b.queueAge - 1)
		synctest.Wait()
		if len(stale) > 0 {
			t.Fatal("refused too early")
		}
		if c := b.within(t, stale); !errors.Is(c.err, ErrStalled) || time.Since(begun) != b.queueAge {
			t.Fatalf("%v after %v", c.err, time.Since(begun))
		}
		if _, _, err := b.add(t, 1); !errors.Is(err, ErrStalled) || !errors.Is(err, ErrOverloaded) {
			t.Fatalf("taken while nothing moves: %v", err)
		}
		time.Sleep(time.Hour)
		if len(flying)+len(halfDone)+len(report) > 0 {
			t.Fatal("a report, or what is in flight, was answered by time")
		}
		for range inFlight {
			b.raft.answer(nil)
			synctest.Wait()
		}
		if reports, submits := b.raft.counts(); reports != 1 || submits != 10 {
			t.Fatalf("%d reports, %d submits were sent", reports, submits)
		}
	})
}

// TestStaleInTime: a stale submit is answered although nothing else happens.
func TestStaleInTime(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		time.Sleep(300 * time.Millisecond)
		begun := time.Now()
		c, done := b.mustAdd(t, 1)
		if got := b.within(t, done); !errors.Is(got.err, ErrStalled) || time.Since(begun) != b.queueAge {
			t.Fatalf("%v after %v", got.err, time.Since(begun))
		}
		if b.withdraw(c) || b.lanes[loadLane].commands != 0 || b.lanes[loadLane].bytes != 0 {
			t.Fatal("it is still there")
		}
		if s := b.raft.sizes(); !equal(s, 1) {
			t.Fatalf("sent: %v", s)
		}
	})
}

// TestOldButMoving: a call takes many groups, and its rest is old. As long as groups come back, this is no reason to
// refuse new calls, nor to say that too much waits.
func TestOldButMoving(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		large, done := b.mustAdd(t, (maxInFlight+2)*maxCommands-100) // nearly two of its groups wait
		for old := range 2 {
			time.Sleep(b.queueAge - time.Millisecond) // the bubble's time
			if _, _, err := b.add(t, 1); old > 0 && err != nil {
				t.Fatalf("%v, while %d wait and groups come back", err, b.lanes[loadLane].commands)
			}
			b.raft.answer(nil)
			synctest.Wait()
		}
		for len(done) == 0 {
			b.raft.answer(nil)
			synctest.Wait()
		}
		if (<-done).err != nil {
			t.Fatal(large.err)
		}
	})
}
