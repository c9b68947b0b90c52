package lead

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/task"
)

// asker is a node's end of a link to the loop.
type asker struct {
	mu  sync.Mutex
	got map[uint64]accept.Answer
}

func (a *asker) Close() {}

func (a *asker) Reply(x accept.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.got == nil {
		a.got = map[uint64]accept.Answer{}
	}
	a.got[x.Call] = x
}

func (a *asker) answer(call uint64) (accept.Answer, bool) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	x, ok := a.got[call]
	return x, ok
}

func asked(call uint64) accept.Ask {
	return accept.Ask{Call: call, Max: 1, Key: accept.Key{Namespace: "default", Behavior: "ext", Worker: "w", Request: fmt.Sprint(call)}}
}

// withAcceptors runs a term with an external behavior and n programs that wait for its tasks.
func withAcceptors(t *testing.T, n uint64, f func(b *leaderBed, tm *term, a *asker)) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		p := task.DefaultPolicy()
		p.Lease = 5_000
		propose(t, b, task.PutBehavior{Namespace: "default", Name: "ext", Version: "v", Policy: p}, task.CloseSession{Session: 1})
		a := &asker{}
		for call := range n {
			if !tm.loop.acceptors.Ask(asked(call+1), a) {
				t.Fatal("the loop has ended")
			}
		}
		f(b, tm, a)
	})
}

func propose(t *testing.T, b *leaderBed, cmds ...task.Command) {
	t.Helper()
	rs, err := b.ProposeLocal(t.Context(), cmds...)
	for _, r := range rs {
		if err != nil || r.Code != task.OK {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

func submitExt(t *testing.T, b *leaderBed, ids ...string) {
	t.Helper()
	for _, id := range ids {
		propose(t, b, task.Submit{Namespace: "default", ID: id, Behavior: "ext", Priority: 4})
	}
	b.feed.Send(task.Event{Kind: task.TaskChanged})
}

func TestBlockedAcceptorsCostNothing(t *testing.T) {
	withAcceptors(t, 1000, func(b *leaderBed, tm *term, a *asker) {
		synctest.Wait()
		b.mu.Lock()
		index, looks := b.index, b.looks
		b.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		b.mu.Lock()
		if b.index != index || b.looks-looks > 10 {
			t.Errorf("in an hour: %d entries, %d looks at the clock", b.index-index, b.looks-looks)
		}
		b.mu.Unlock()
		submitExt(t, b, "t-1", "t-2")
		for call := uint64(1); call <= 2; call++ {
			if x, _ := a.answer(call); len(x.Grants) != 1 {
				t.Errorf("who waits longest, %d, got %+v", call, x)
			}
		}
		if _, ok := a.answer(3); ok {
			t.Error("somebody else was answered too")
		}
	})
}

func TestExternalLeaseExpiresByTick(t *testing.T) {
	withAcceptors(t, 1, func(b *leaderBed, tm *term, a *asker) {
		submitExt(t, b, "t-1")
		if x, _ := a.answer(1); len(x.Grants) != 1 || x.Grants[0].Left != 5_000 {
			t.Fatalf("%+v", x)
		}
		given := b.Mono() - time.Hour
		time.Sleep(4999 * time.Millisecond)
		if got := b.ticked(); len(got) != 0 {
			t.Fatalf("too early: %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := b.ticked(); len(got) != 1 || got[0] != given+5*time.Second {
			t.Errorf("ticks %v, the lease was given at %v", got, given)
		}
		b.Local(func(m *task.Machine) {
			if x := m.Task(taskNamed("t-1")); x.Status != task.Created || x.LostCount != 1 {
				t.Errorf("%+v", x)
			}
		})
	})
}

func TestAbandonedLeaseIsGivenBackAndGoesToTheNext(t *testing.T) {
	withAcceptors(t, 1, func(b *leaderBed, tm *term, a *asker) {
		submitExt(t, b, "t-1")
		if x, _ := a.answer(1); len(x.Grants) != 1 {
			t.Fatalf("%+v", x)
		}
		tm.loop.acceptors.Ask(asked(2), a)
		tm.loop.acceptors.Abandon(accept.Abandon{Call: 1, Key: asked(1).Key}, a)
		if x, _ := a.answer(1); !x.Abandoned {
			t.Errorf("%+v", x)
		}
		if x, _ := a.answer(2); len(x.Grants) != 1 || x.Grants[0].ID != "t-1" {
			t.Errorf("%+v", x)
		}
		b.Local(func(m *task.Machine) {
			if x := m.Task(taskNamed("t-1")); x.Attempt != 2 || x.LostCount+x.Failures != 0 {
				t.Errorf("%+v", x)
			}
		})
	})
}

func TestAcceptThatDoesNotWait(t *testing.T) {
	withAcceptors(t, 3, func(b *leaderBed, tm *term, a *asker) {
		q := asked(9)
		q.Settle = true
		tm.loop.acceptors.Ask(q, a)
		if x, ok := a.answer(9); !ok || len(x.Grants) != 0 {
			t.Errorf("%+v %v", x, ok)
		}
		tm.loop.acceptors.Settle(2)
		if _, ok := a.answer(2); !ok {
			t.Error("the end of a wait is not answered")
		}
		tm.loop.acceptors.Drop([]uint64{1}, a)
		submitExt(t, b, "t-1")
		if x, _ := a.answer(3); len(x.Grants) != 1 {
			t.Errorf("the last one that waits got %+v", x)
		}
	})
}
