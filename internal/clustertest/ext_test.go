package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// putExternal defines an external behavior through member i.
func putExternal(t *testing.T, c *Cluster, i int, name, policy string) {
	t.Helper()
	c.Leader()
	_, err := c.Node(i).PutBehavior(t.Context(), api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(policy)})
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

func acceptOf(worker string, n int, wait time.Duration) api.AcceptRequest {
	return api.AcceptRequest{Behavior: "ext", Worker: worker, Max: n, Wait: new(api.Duration(wait))}
}

// acceptAt accepts through member i. An error fails the test.
func acceptAt(t *testing.T, c *Cluster, i int, r api.AcceptRequest) []*api.Task {
	t.Helper()
	ctx, cancel := c.Context(10 * time.Minute)
	defer cancel()
	reply, err := c.Node(i).Accept(ctx, r)
	if err != nil {
		t.Fatalf("accept through n%d: %v", i+1, err)
	}
	return reply.Tasks
}

// raw returns JSON, or nothing.
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func finishAt(t *testing.T, c *Cluster, i int, x *api.Task, result string) *api.FinishReply {
	t.Helper()
	ctx, cancel := c.Context(time.Minute)
	defer cancel()
	reply, err := c.Node(i).Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Result: raw(result)})
	if err != nil {
		t.Fatalf("finish %s: %v", x.ID, err)
	}
	return reply
}

func TestExternalLife(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"10s"}`)
		leader, f := c.Leader(), c.Followers()
		ctx, cancel := c.Context(10 * time.Minute)
		defer cancel()
		start := time.Now()
		if ts := acceptAt(t, c, f[0], acceptOf("w1", 5, 0)); len(ts) != 0 || time.Since(start) > time.Second {
			t.Fatalf("wait 0: %d tasks after %v", len(ts), time.Since(start))
		}
		if ts := acceptAt(t, c, f[0], acceptOf("w1", 5, 3*time.Second)); len(ts) != 0 || time.Since(start).Round(time.Second) != 3*time.Second {
			t.Fatalf("wait 3s: %d tasks after %v", len(ts), time.Since(start))
		}
		id := c.Submit(f[1], "ext", `{"a":1}`)
		ts := acceptAt(t, c, f[0], acceptOf("w1", 5, time.Minute))
		if len(ts) != 1 || ts[0].ID != id || string(ts[0].Params) != `{"a":1}` || !ts[0].Lease.External {
			t.Fatalf("accepted %v", ts)
		}
		x := ts[0]
		if x.Lease.LeaseMS < 9_000 || x.Lease.LeaseMS > 10_000 || x.Lease.LostNotBefore == nil {
			t.Errorf("lease %+v", x.Lease)
		}
		for i := range 3 { // 24 s with a lease of 10 s
			c.Sleep(8 * time.Second)
			r, err := c.Node(i).Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: x.Lease.Token, Progress: json.RawMessage(fmt.Sprint(i))})
			if err != nil || r.Cancel || r.Resubmit || r.LeaseMS < 9_000 || r.LeaseMS > 10_000 {
				t.Fatalf("heartbeat: %+v, %v", r, err)
			}
		}
		workers, err := c.Node(f[1]).Workers(ctx)
		if err != nil || len(workers) != 1 || workers[0].ID != "w1" || workers[0].Kind != "external" || workers[0].Running != 1 {
			t.Errorf("workers %+v, %v", workers, err)
		}
		stats, err := c.Node(leader).BehaviorStats(ctx, "", "ext")
		if err != nil || stats.Running != 1 || stats.Due != 0 || stats.Oldest != nil {
			t.Errorf("stats %+v, %v", stats, err)
		}
		if r := finishAt(t, c, f[1], x, `"done"`); r.Task.Status != "SUCCESS" || r.Repeated || string(r.Task.Result) != `"done"` {
			t.Errorf("%+v", r)
		}
		if r := finishAt(t, c, leader, x, `"done"`); !r.Repeated {
			t.Errorf("the same finish again: %+v", r)
		}
		_, err = c.Node(0).Finish(ctx, api.FinishRequest{ID: id, Token: x.Lease.Token, Result: json.RawMessage(`"other"`)})
		if api.CodeOf(err) != "halt" {
			t.Errorf("another finish: %v", err)
		}
		if _, err = c.Node(0).Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: x.Lease.Token}); api.CodeOf(err) != "halt" {
			t.Errorf("late heartbeat: %v", err)
		}
		// Without a result, the last progress becomes the result. A snooze counts as nothing.
		id = c.Submit(0, "ext", `2`)
		x = acceptAt(t, c, 1, acceptOf("w1", 1, time.Minute))[0]
		s, err := c.Node(2).Snooze(ctx, api.SnoozeRequest{ID: id, Token: x.Lease.Token, Checkpoint: json.RawMessage(`{"at":7}`)})
		if err != nil || s.Status != "CREATED" || string(s.Checkpoint) != `{"at":7}` {
			t.Fatalf("snooze: %v %v", s, err)
		}
		x = acceptAt(t, c, 1, acceptOf("w2", 1, time.Minute))[0]
		if _, err := c.Node(1).Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: x.Lease.Token, Progress: json.RawMessage(`42`)}); err != nil {
			t.Fatal(err)
		}
		if r := finishAt(t, c, 0, x, ``); string(r.Task.Result) != `42` || r.Task.Attempt != 2 || r.Task.Failures+r.Task.LostCount != 0 {
			t.Errorf("%s", Show(r.Task))
		}
	})
}

func TestAcceptRefusals(t *testing.T) {
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		putExternal(t, c, 0, "ext", `{"kind":"external","limits":{"result_bytes":20},"result":"required",
			"result_schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}`)
		ctx, cancel := c.Context(10 * time.Minute)
		defer cancel()
		for name, want := range map[string]string{"echo": "not_external", "nobody": "behavior_not_found"} {
			r := acceptOf("w1", 1, time.Minute)
			r.Behavior = name
			if _, err := c.Node(2).Accept(ctx, r); api.CodeOf(err) != want {
				t.Errorf("accept of %s: %v", name, err)
			}
		}
		id := c.Submit(1, "ext", `1`)
		x := acceptAt(t, c, 2, acceptOf("w1", 1, time.Minute))[0]
		for result, want := range map[string]string{
			`{"n":"x"}`: "result_schema", `{"n":1,"more":"0123456789"}`: "too_large", ``: "result_schema", `7`: "result_schema",
		} {
			_, err := c.Node(1).Finish(ctx, api.FinishRequest{ID: id, Token: x.Lease.Token, Result: raw(result)})
			if api.CodeOf(err) != want {
				t.Errorf("result %s: %v", result, err)
			}
		}
		now := c.Wait(1, id, api.GetOptions{})
		if now.Status != "RUNNING" || now.Rev != x.Rev {
			t.Errorf("a refused result changed something: %s", Show(now))
		}
		if r := finishAt(t, c, 0, x, `{"n":1}`); r.Task.Status != "SUCCESS" {
			t.Errorf("%s", Show(r.Task))
		}
	})
}

func TestFinishManyAndErrors(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","retry":{"max_attempts":2,"initial_interval":"1s"}}`)
		var ids []string
		for i := range 4 {
			ids = append(ids, c.Submit(i%3, "ext", fmt.Sprint(i)))
		}
		ts := acceptAt(t, c, 1, acceptOf("w1", 10, time.Minute))
		if len(ts) != 4 {
			t.Fatalf("accepted %d", len(ts))
		}
		c.Sleep(time.Second)
		rs := []api.FinishRequest{
			{ID: ts[0].ID, Token: ts[0].Lease.Token, Result: json.RawMessage(`1`)},
			{ID: ts[1].ID, Token: 999_999, Result: json.RawMessage(`1`)},
			{ID: "!", Token: 1},
			{ID: ts[2].ID, Token: ts[2].Lease.Token, Error: &api.ReportError{Code: "disk.full", Message: "no room"}},
			{ID: ts[3].ID, Token: ts[3].Lease.Token, Error: &api.ReportError{Message: "bad", Retryable: new(false)}},
		}
		out, err := c.Node(2).FinishMany(t.Context(), rs)
		if err != nil || len(out) != 5 {
			t.Fatalf("%v %v", out, err)
		}
		if out[0].Error != nil || out[0].Task.Status != "SUCCESS" {
			t.Errorf("%+v", out[0])
		}
		if out[1].Error == nil || out[1].Error.Code != "halt" || out[2].Error == nil || out[2].Error.Code != "invalid_field" {
			t.Errorf("%+v %+v", out[1].Error, out[2].Error)
		}
		if x := out[3].Task; x.Error.Code != "disk.full" || x.Final || x.NotBefore == nil {
			t.Errorf("%s", Show(x))
		}
		if x := out[4].Task; !x.Final || x.Error.Code != "HANDLER_ERROR" {
			t.Errorf("%s", Show(x))
		}
		if again := acceptAt(t, c, 0, acceptOf("w2", 1, time.Minute)); len(again) != 1 || again[0].ID != ts[2].ID || again[0].Attempt != 2 {
			t.Errorf("the retry: %v", again)
		}
		_ = ids
	})
}

// TestExternalLeaseIsLost: a worker that falls silent loses its lease. Watchers see it at once, another worker gets the
// task, and the late finish is refused (SPEC J6, L3).
func TestExternalLeaseIsLost(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"5s"}`)
		id := c.Submit(0, "ext", `1`)
		first := acceptAt(t, c, 1, acceptOf("w1", 1, time.Minute))[0]
		start := time.Now()
		if x := c.Until(2, id, "waiting"); x.Status != "CREATED" || x.LostCount != 1 {
			t.Errorf("%s", Show(x))
		}
		if took := time.Since(start); took < 4500*time.Millisecond || took > 5500*time.Millisecond {
			t.Errorf("lost after %v", took)
		}
		second := acceptAt(t, c, 2, acceptOf("w2", 1, time.Minute))[0]
		if second.ID != id || second.Lease.Token <= first.Lease.Token || second.Attempt != 2 {
			t.Errorf("%s", Show(second))
		}
		_, err := c.Node(0).Finish(t.Context(), api.FinishRequest{ID: id, Token: first.Lease.Token, Result: json.RawMessage(`1`)})
		if api.CodeOf(err) != "halt" {
			t.Errorf("late finish: %v", err)
		}
		// The next heartbeat tells of a cancel, and the lease is dead at the end of the grace.
		if r, err := c.Node(1).Cancel(t.Context(), "", id); err != nil || !r.Told {
			t.Fatalf("%+v %v", r, err)
		}
		r, err := c.Node(2).Heartbeat(t.Context(), api.HeartbeatRequest{ID: id, Token: second.Lease.Token, Extend: new(api.Duration(time.Hour))})
		if err != nil || !r.Cancel || r.LeaseMS > 5_000 {
			t.Errorf("heartbeat: %+v %v", r, err)
		}
		if x := c.Final(0, id); x.Status != "FAILURE" || x.Error.Code != "CANCELLED" {
			t.Errorf("%s", Show(x))
		}
	})
}

// TestBlockedAcceptSurvivesTheLeader: an accept waits when the leader dies. It goes on waiting under the next leader
// and gets the task.
func TestBlockedAcceptSurvivesTheLeader(t *testing.T) {
	for _, how := range []string{"kill", "stop"} {
		t.Run(how, func(t *testing.T) {
			Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
				putExternal(t, c, 0, "ext", `{"kind":"external"}`)
				leader, fs := c.Leader(), c.Followers()
				got := make(chan []*api.Task, 2)
				for k, f := range fs {
					go func() {
						reply, err := c.Node(f).Accept(t.Context(), acceptOf(fmt.Sprint("w", k), 1, 5*time.Minute))
						if err != nil {
							t.Errorf("accept: %v", err)
							got <- nil
							return
						}
						got <- reply.Tasks
					}()
				}
				c.Sleep(3 * time.Second)
				if how == "kill" {
					c.Kill(leader)
				} else {
					c.Stop(leader)
				}
				a, b := c.Submit(fs[0], "ext", `1`), c.Submit(fs[1], "ext", `2`)
				start := time.Now()
				ids := []string{}
				for range fs {
					for _, x := range <-got {
						ids = append(ids, x.ID)
					}
				}
				slices.Sort(ids)
				want := []string{a, b}
				if slices.Sort(want); !slices.Equal(ids, want) {
					t.Errorf("accepted %v, submitted %v", ids, want)
				}
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("answered %v after the submits", took)
				}
			})
		})
	}
}

// TestRepeatedRequestID: a leader committed an accept and did not answer it. The next leader answers it: the same
// request gets exactly the same leases.
func TestRepeatedRequestID(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"1m"}`)
		for i := range 5 {
			c.Submit(i%3, "ext", fmt.Sprint(i))
		}
		r := acceptOf("w1", 3, 0)
		r.RequestID = "abc"
		tokens := func(ts []*api.Task) (s []uint64) {
			for _, x := range ts {
				s = append(s, x.Lease.Token)
			}
			return s
		}
		first := tokens(acceptAt(t, c, 0, r))
		if len(first) != 3 {
			t.Fatalf("accepted %v", first)
		}
		leader := c.Leader()
		if again := tokens(acceptAt(t, c, (leader+1)%3, r)); !slices.Equal(again, first) {
			t.Errorf("again: %v, first %v", again, first)
		}
		c.Kill(leader)
		if again := tokens(acceptAt(t, c, (leader+1)%3, r)); !slices.Equal(again, first) {
			t.Errorf("under the next leader: %v, first %v", again, first)
		}
		r.RequestID = ""
		if others := tokens(acceptAt(t, c, (leader+2)%3, r)); len(others) != 2 {
			t.Errorf("without the ID: %v", others)
		}
		c.Start(leader)
	})
}

// TestHangUps: clients hang up at every possible moment. No task is lost to them, and none waits for the end of a
// lease.
func TestHangUps(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"1h"}`)
		leader := c.Leader()
		for i := range 3 { // messages are slow, so that hang-ups meet every step
			for j := range 3 {
				if i != j {
					c.Net.Delay(c.Members[i].Addr, c.Members[j].Addr, 3*time.Millisecond)
				}
			}
		}
		const n = 60
		var wg sync.WaitGroup
		for k := range n {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Duration(k)*time.Millisecond/2)
				defer cancel()
				reply, err := c.Node(k%3).Accept(ctx, acceptOf("w", 1, time.Minute))
				switch {
				case err == nil && k%2 == 0 && reply.Undelivered != nil:
					reply.Undelivered()
				case err == nil && len(reply.Tasks) == 1:
					finishAt(t, c, k%3, reply.Tasks[0], `1`)
				case api.CodeOf(err) != api.CodeNotReady:
					t.Errorf("accept: %v", err)
				}
			})
		}
		var ids []string
		c.Sleep(time.Second - 20*time.Millisecond)
		for k := range n / 2 {
			wg.Go(func() {
				c.Sleep(time.Duration(k) * 2 * time.Millisecond)
				c.Submit(k%3, "ext", `1`)
			})
		}
		wg.Wait()
		c.Sleep(5 * time.Second)
		list, err := c.Node(leader).Tasks(t.Context(), api.ListRequest{Limit: 1000})
		if err != nil || len(list.Tasks) != n/2 {
			t.Fatalf("%d tasks, %v", len(list.Tasks), err)
		}
		back := 0
		for _, x := range list.Tasks {
			if x.Status == "RUNNING" || x.LostCount+x.Failures != 0 {
				t.Errorf("leased to nobody: %s", Show(x))
			}
			for _, h := range x.History {
				if h.Outcome == "GIVEN_BACK" {
					back++
				}
			}
			ids = append(ids, x.ID)
		}
		if back == 0 {
			t.Error("nothing was ever given back: the test tests nothing")
		}
		for left := acceptAt(t, c, 0, acceptOf("w", 1000, 0)); len(left) > 0; left = acceptAt(t, c, 0, acceptOf("w", 1000, 0)) {
			for _, x := range left {
				finishAt(t, c, 1, x, `1`)
			}
		}
		for _, id := range ids {
			if x := c.Wait(2, id, api.GetOptions{}); x.Status != "SUCCESS" {
				t.Errorf("%s", Show(x))
			}
		}
	})
}

// TestManyAcceptorsAreFair: there are many acceptors on three nodes. Each task goes to exactly one, and every acceptor
// gets its turn. While nothing happens they cost no log entry.
func TestManyAcceptorsAreFair(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external"}`)
		const acceptors, tasks = 60, 600
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var mu sync.Mutex
		var wg sync.WaitGroup
		counts, seen := make([]int, acceptors), map[string]int{}
		for k := range acceptors {
			wg.Go(func() {
				for {
					reply, err := c.Node(k%3).Accept(ctx, acceptOf(fmt.Sprint("w", k), 1, 5*time.Minute))
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						t.Errorf("accept: %v", err)
						return
					}
					for _, x := range reply.Tasks {
						mu.Lock()
						counts[k]++
						seen[x.ID]++
						mu.Unlock()
						finishAt(t, c, k%3, x, `1`)
					}
				}
			})
		}
		c.Sleep(5 * time.Second)
		index := func() (i uint64) {
			c.Node(c.Leader()).Store().Local(func(m *task.Machine) { i = m.Index() })
			return i
		}
		before := index()
		c.Sleep(2 * time.Minute)
		if now := index(); now != before {
			t.Errorf("%d blocked acceptors cost %d entries in two minutes", acceptors, now-before)
		}
		for i := range tasks {
			c.Submit(i%3, "ext", `1`)
		}
		c.Eventually("all tasks have ended", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(seen) == tasks
		})
		stop()
		wg.Wait()
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s went to %d acceptors", id, n)
			}
		}
		// The longest wait goes first. An acceptor whose node is nearer to the leader comes back sooner, so it waits
		// sooner.
		if least, most := slices.Min(counts), slices.Max(counts); most-least > tasks/acceptors/2 {
			t.Errorf("between %d and %d tasks each: %v", least, most, counts)
		}
	})
}

// TestAcceptorsOfACutOffNode: a node with acceptors is cut off. It does not keep tasks from the other nodes.
func TestAcceptorsOfACutOffNode(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"20s"}`)
		fs := c.Followers()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _, _ = c.Node(fs[0]).Accept(ctx, acceptOf("cut", 1, 5*time.Minute)) })
		}
		c.Sleep(2 * time.Second)
		c.Net.Isolate(c.Members[fs[0]].Addr)
		c.Sleep(10 * time.Second)
		id := c.Submit(fs[1], "ext", `1`)
		if ts := acceptAt(t, c, fs[1], acceptOf("w", 1, time.Minute)); len(ts) != 1 || ts[0].ID != id || ts[0].Attempt != 1 {
			t.Errorf("accepted %v", ts)
		}
		c.Net.Rejoin(c.Members[fs[0]].Addr)
		stop()
		wg.Wait()
	})
}
