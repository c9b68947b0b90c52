package clustertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// TestRunSaysWhenAgain: what a guest writes into channel 20 decides when its task runs next, after a success and after
// a failure, whatever the behavior's policy says (SPEC R4). This holds over the death of a leader.
func TestRunSaysWhenAgain(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("again")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"again"},{"name":"again-failing"}]}`))
		c.WorkersReady(3)
		at := time.Now().Add(90 * time.Second).UnixMilli()
		good := c.Submit(0, "again", fmt.Sprint(at))
		bad := c.Submit(1, "again-failing", fmt.Sprint(at))
		one, other := c.Until(2, good, "attempt:1"), c.Until(2, bad, "attempt:1")
		if one.Status != "SUCCESS" || one.Final || string(one.Result) != fmt.Sprint(at) || one.NotBefore == nil || one.NotBefore.UnixMilli() != at {
			t.Errorf("a success: %s", Show(one))
		}
		if other.Status != "FAILURE" || other.Final || other.Failures != 1 || other.NotBefore == nil || other.NotBefore.UnixMilli() != at {
			t.Errorf("a failure: %s", Show(other))
		}
		leader := c.Leader()
		c.Kill(leader)
		i := c.Leader(leader)
		one, other = c.Final(i, good), c.Final(i, bad)
		if one.Status != "SUCCESS" || one.Attempt != 2 || one.StartedAt.UnixMilli() < at {
			t.Errorf("a success: %s", Show(one))
		}
		if other.Status != "FAILURE" || other.Attempt != 2 || other.Failures != 2 || other.StartedAt.UnixMilli() < at {
			t.Errorf("a failure: %s", Show(other))
		}
		if late := max(one.StartedAt.UnixMilli(), other.StartedAt.UnixMilli()) - at; late > 2000 {
			t.Errorf("%d ms late", late)
		}
		c.Start(leader)
	})
}

// TestRepeats: a behavior with repeat_every runs again and again. Its distance is kept over faults. A cancel ends it
// with the last outcome (SPEC R4, T1).
func TestRepeats(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		pushAs(c, 0, "echo", `,"repeat_every":"10s"`)
		c.WorkersReady(3)
		id := c.Submit(0, "job", `1`)
		c.Sleep(5 * time.Minute)
		leader := c.Leader()
		c.Kill(leader)
		i := c.Leader(leader)
		c.Sleep(5 * time.Minute)
		reply, err := c.Node(i).Cancel(t.Context(), "", id)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Final(i, id)
		if got.Status != "SUCCESS" || got.Error != nil || reply.Told && got.Attempt == 0 {
			t.Errorf("%s", Show(got))
		}
		if got.Attempt < 50 || got.Attempt > 61 {
			t.Errorf("%d runs in ten minutes", got.Attempt)
		}
		for k := 1; k < len(got.History); k++ {
			if d := got.History[k].StartedAt.Sub(got.History[k-1].FinishedAt.Time); d < 10*time.Second || d > 12*time.Second {
				t.Errorf("a run began %v after the one before", d)
			}
		}
		c.Start(leader)
	})
}

// TestKeysAreExact: two tasks of one key never run at a time, whichever nodes take their submits and whichever nodes
// die. Tasks of other keys do not wait for them (SPEC L11).
func TestKeysAreExact(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("wait")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "job", wasm, []byte(`{"schema":1,"behaviors":[{"name":"job","concurrency_key":"/key"}]}`))
		c.WorkersReady(3)
		var ids []string
		for k := range 24 {
			key := strings.Repeat("k", 1+k%4)
			ids = append(ids, c.SubmitRequest(k%3, api.SubmitRequest{
				Behavior: "job", ID: fmt.Sprintf("%s-%d", key, k), Params: fmt.Appendf(nil, `{"key":%q,"ms":2000}`, key),
			}).Task.ID)
		}
		c.Sleep(3 * time.Second)
		leader := c.Leader()
		c.Kill(leader)
		i := c.Leader(leader)
		type span struct{ from, to time.Time }
		byKey := map[string][]span{}
		for _, id := range ids {
			got := c.Final(i, id)
			if got.Status != "SUCCESS" {
				t.Fatalf("%s", Show(got))
			}
			key, _, _ := strings.Cut(id, "-")
			for _, h := range got.History {
				byKey[key] = append(byKey[key], span{h.StartedAt.Time, h.FinishedAt.Time})
			}
		}
		var first, last time.Time
		for key, spans := range byKey {
			for x, a := range spans {
				if first.IsZero() || a.from.Before(first) {
					first = a.from
				}
				if a.to.After(last) {
					last = a.to
				}
				for _, b := range spans[x+1:] {
					if a.from.Before(b.to) && b.from.Before(a.to) {
						t.Errorf("two of key %s at a time: %v and %v", key, a, b)
					}
				}
			}
		}
		if took := last.Sub(first); took > 40*time.Second { // 6 rounds of 2 s and a lost leader
			t.Errorf("keys waited for each other: %v", took)
		}
		c.Start(leader)
	})
}
