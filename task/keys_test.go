package task_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/bounds"
)

// keyed sends one command of a request under a client's key.
func (r *rig) keyed(key, seq, body uint64, c task.Command) (task.Result, int) {
	r.t.Helper()
	results, events := r.propose(task.Proposal{Origin: task.Origin{Process: key, Seq: seq, Lowest: 1, Body: body}, Command: c})
	return results[0], len(events)
}

// TestKeysAreBounded: when there are too many keys a new one is refused before anything happens; the known ones go on.
func TestKeysAreBounded(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{Keys: 3}))
	for k := uint64(1); k <= 4; k++ {
		r.h.LeaseNow++
		got, events := r.keyed(k, 1, 9, submit(fmt.Sprintf("task-%d", k)))
		if full := k == 4; (got.Code == task.KeysExhausted) != full || (events == 0) != full {
			t.Errorf("key %d: %+v", k, got)
		}
	}
	if got, events := r.keyed(2, 1, 9, submit("task-2")); got.Outcome != task.SubmitCreated || events != 0 {
		t.Errorf("again: %+v", got)
	}
	if got, _ := r.keyed(2, 2, 9, submit("more")); got.Code != task.OK {
		t.Errorf("the rest of a request: %+v", got)
	}
	_, lease := r.m.NextTick()
	if want := task.LeaseTime(1 + 1 + bounds.Default().ProcessIdle); lease == 0 || lease > want {
		t.Fatalf("the next Tick is at %d, a key goes at %d", lease, want)
	}
	r.must(task.CloseSession{Session: 1})
	_, lease = r.m.NextTick()
	r.h.LeaseNow = lease - 1
	if r.must(task.Tick{}).Changed {
		t.Error("a key went too early")
	}
	r.h.LeaseNow = lease
	if !r.must(task.Tick{}).Changed {
		t.Error("NextTick named a time at which nothing happens")
	}
	if got, _ := r.keyed(4, 1, 9, submit("task-4")); got.Outcome != task.SubmitCreated {
		t.Errorf("there is room again: %+v", got)
	}
	if got, _ := r.keyed(1, 1, 8, submit("task-1")); got.Code != task.KeysExhausted {
		t.Errorf("a forgotten key is a new one: %+v", got)
	}
}

// TestKeysAreBoundedInBytes: a batch goes on where it was refused, without doing anything twice.
func TestKeysAreBoundedInBytes(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{KeyBytes: 3000}))
	batch := func() (done, refused int) {
		for seq := uint64(1); seq <= 6; seq++ {
			c := submit(fmt.Sprintf("task-%d", seq))
			c.IfExists = task.Fail
			c.Params = task.Payload{Encoding: task.Bytes, Data: make([]byte, 800)}
			switch got, _ := r.keyed(7, seq, 9, c); got.Code {
			case task.OK:
				done++
			case task.KeysExhausted:
				refused++
			default:
				t.Fatalf("%d: %+v", seq, got)
			}
		}
		return done, refused
	}
	for range 2 {
		if done, refused := batch(); done != 3 || refused != 3 {
			t.Errorf("%d done, %d refused", done, refused)
		}
	}
	if n := r.m.Counts().Created; n != 3 {
		t.Errorf("%d tasks", n)
	}
	if got, _ := r.keyed(8, 1, 9, submit("new")); got.Code != task.KeysExhausted {
		t.Errorf("another key: %+v", got)
	}
	if r.m.Task(key("new")) != nil {
		t.Error("refused and applied")
	}
	small := newRig(t, nil, task.WithLimit(task.Limit{KeyBytes: 10 * 256}))
	for seq := uint64(1); seq <= 11; seq++ {
		if got, _ := small.keyed(7, seq, 9, task.Tick{}); (got.Code == task.OK) != (seq <= 10) {
			t.Errorf("empty answers weigh too: %d: %+v", seq, got)
		}
	}
}

// TestKeyOfChangedBehavior: a proposer that has to validate again uses the same key.
func TestKeyOfChangedBehavior(t *testing.T) {
	r := newRig(t, nil)
	c := submit("one")
	c.BehaviorRev = 99
	for range 2 {
		if got, _ := r.keyed(7, 1, 9, c); got.Code != task.BehaviorWasChanged {
			t.Fatalf("%+v", got)
		}
	}
	c.BehaviorRev = 1
	if got, _ := r.keyed(7, 1, 9, c); got.Outcome != task.SubmitCreated {
		t.Errorf("validated again: %+v", got)
	}
	if got, _ := r.keyed(7, 1, 10, c); got.Code != task.IdempotencyMismatch {
		t.Errorf("the key is taken from the first use on: %+v", got)
	}
}

// TestKeptAnswer reads what a proposal would be answered.
func TestKeptAnswer(t *testing.T) {
	r := newRig(t, nil)
	want, _ := r.keyed(7, 1, 9, submit("one"))
	r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo"})
	if got, ok := r.m.KeptAnswer(7, 9, 1); !ok || got.Task != want.Task || got.Index != want.Index {
		t.Errorf("%+v %t", got, ok)
	}
	if got, ok := r.m.KeptAnswer(7, 8, 1); !ok || got.Code != task.IdempotencyMismatch {
		t.Errorf("another body: %+v %t", got, ok)
	}
	for _, x := range [][3]uint64{{7, 9, 2}, {8, 9, 1}} {
		if got, ok := r.m.KeptAnswer(x[0], x[1], x[2]); ok {
			t.Errorf("%v: %+v", x, got)
		}
	}
}

// TestKeysInFrozen: what a snapshot shows does not change with what is answered later.
func TestKeysInFrozen(t *testing.T) {
	r := newRig(t, nil)
	for _, seq := range []uint64{1, 5, 9} {
		r.keyed(7, seq, 9, submit(fmt.Sprintf("task-%d", seq)))
	}
	count := func(f *task.Frozen) (n int) {
		for x := range f.Records {
			if a, ok := x.(*task.Answer); ok && a.Keyed {
				n++
			}
		}
		return n
	}
	f := r.m.Freeze()
	for _, seq := range []uint64{7, 3, 11} { // overtaken and not
		if got, _ := r.keyed(7, seq, 9, submit(fmt.Sprintf("task-%d", seq))); got.Outcome != task.SubmitCreated {
			t.Fatalf("%d: %+v", seq, got)
		}
	}
	if was, now := count(f), count(r.m.Freeze()); was != 3 || now != 6 {
		t.Errorf("%d answers then, %d now", was, now)
	}
	restored, err := restore(r.m)
	if err != nil {
		t.Fatal(err)
	}
	r.m = restored
	for seq := uint64(1); seq <= 11; seq += 2 {
		if got, events := r.keyed(7, seq, 9, task.Tick{}); got.Outcome != task.SubmitCreated || events != 0 {
			t.Errorf("%d after restoring: %+v", seq, got)
		}
	}
}

// TestLongAnswersCount: what an answer may hold thousands of, or what is long in it, counts in what keys may keep.
func TestLongAnswersCount(t *testing.T) {
	p := task.DefaultPolicy()
	p.ParamsSchema = make([]byte, 30_000)
	long := strings.Repeat("x", 100)
	var deletes []task.TxnDelete
	var updates []task.TxnUpdate
	var ids []uint64
	for i := range 500 {
		id := fmt.Sprintf("%s-%d", long, i)
		deletes = append(deletes, task.TxnDelete{ID: id})
		updates = append(updates, task.TxnUpdate{ID: fmt.Sprintf("task-%d", i)})
		ids = append(ids, uint64(1_000_000+i))
	}
	labeled := submit("labeled")
	labeled.Labels = []task.Label{{Name: "name", Value: strings.Repeat(long, 300)}}
	for name, c := range map[string]struct {
		command task.Command
		limit   int64
		times   uint64 // until there is no more room
	}{
		"versions": {task.PutBehavior{Namespace: task.DefaultNamespace, Name: "ext", Policy: p}, 100_000, 3}, // one, two, three
		"tasks":    {task.Txn{Namespace: task.DefaultNamespace, Updates: updates}, 600_000, 3},
		"reasons":  {task.Txn{Namespace: task.DefaultNamespace, Deletes: deletes}, 150_000, 3},
		"refusals": {task.StoreUpdate{Namespace: task.DefaultNamespace, Client: 1, Deletes: ids}, 10_000, 3},
		"labels":   {labeled, 80_000, 3},
	} {
		r := newRig(t, nil, task.WithLimit(task.Limit{KeyBytes: c.limit}))
		for i := range updates {
			r.h.Index++
			r.m.Apply(r.h, []task.Proposal{{Command: submit(updates[i].ID)}}) // without a Check of everything
		}
		for n := uint64(1); n <= c.times+1; n++ {
			if put, ok := c.command.(task.PutBehavior); ok {
				put.Version = fmt.Sprint("e", n)
				c.command = put
			}
			if got, _ := r.keyed(n, 1, 9, c.command); (got.Code == task.KeysExhausted) != (n > c.times) {
				t.Errorf("%s: %d times: %q", name, n, got.Code)
			}
		}
	}
}

// TestTickUnderItsOwnKey: a Tick that forgets the key under which it is proposed leaves nothing of it behind.
func TestTickUnderItsOwnKey(t *testing.T) {
	r := newRig(t, nil)
	origin := task.Origin{Process: 7, Body: 1, Seq: 1, Lowest: 1}
	r.propose(task.Proposal{Origin: origin, Command: submit("one")})
	r.h.LeaseNow += 3_600_001
	origin.Seq = 2
	r.propose(task.Proposal{Origin: origin, Command: task.Tick{}})
}

// TestKeptAnswersOwnTheirPayloads: an answer that is kept for an hour must not keep a chunk of the arena for as long.
func TestKeptAnswersOwnTheirPayloads(t *testing.T) {
	r := newRig(t, func(*task.Policy) {})
	params := task.Payload{Encoding: task.JSON, Data: []byte(`{"a":1}`)}
	submit := task.Submit{Namespace: task.DefaultNamespace, ID: "one-task", Behavior: "echo", Priority: 4, Params: params}
	r.must(submit)
	submit.Params.Data = []byte(`{"a":1}`)
	rs, _ := r.propose([]task.Proposal{{Origin: task.Origin{Process: 7, Seq: 1, Lowest: 1, Body: 3}, Command: submit}}...)
	kept, ok := r.m.KeptAnswer(7, 3, 1)
	if !ok || kept.Outcome != task.SubmitExisting || string(kept.Task.Params.Data) != `{"a":1}` {
		t.Fatalf("kept %v %+v", ok, kept)
	}
	if &kept.Task.Params.Data[0] == &rs[0].Task.Params.Data[0] || &kept.Task.Params.Data[0] == &r.m.Task(key("one-task")).Params.Data[0] {
		t.Error("the answer shares its payload with the arena")
	}
}
