package clustertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// activation is one change of a behavior's active version, in the log's time.
type activation struct {
	version string
	at      api.Time
}

// pushAs makes a version of the behavior "job" from a guest.
func pushAs(c *Cluster, i int, guest, more string) string {
	c.t.Helper()
	wasm, _, err := Guest(guest)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.PushWasm(i, "job", wasm, fmt.Appendf(nil, `{"schema":1,"behaviors":[{"name":"job"%s}]}`, more)).Version
}

// activated reads when a version became active the last time.
func activated(c *Cluster, i int, version string) activation {
	c.t.Helper()
	d, err := c.Node(i).Behavior(c.t.Context(), "", "job")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, v := range d.Versions {
		if v.Version == version {
			return activation{version, v.ActivatedAt}
		}
	}
	c.t.Fatalf("version %s is not kept: %+v", version, d.Versions)
	return activation{}
}

// TestVersionsUnderLoad: versions change at one point in the log while all nodes take submits. No task fails (SPEC B2).
// The audit, which runs in every test here, checks that each task is leased on the version that is active at that
// entry.
func TestVersionsUnderLoad(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		first := pushAs(c, 0, "echo", "")
		c.WorkersReady(3)
		history := []activation{activated(c, 0, first)}

		var mu sync.Mutex
		var ids []string
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range c.Members {
			wg.Go(func() {
				for k := 0; ; k++ {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
					}
					id := fmt.Sprintf("job-%d-%d", i, k)
					ctx, cancel := c.Context(patience)
					_, err := c.Node(i).Submit(ctx, api.SubmitRequest{Behavior: "job", ID: id, Params: []byte(`1`)})
					cancel()
					if err != nil {
						t.Errorf("submit %s: %v", id, err)
						return
					}
					mu.Lock()
					ids = append(ids, id)
					mu.Unlock()
				}
			})
		}
		for k := range 3 {
			c.Sleep(time.Second)
			v := pushAs(c, k%3, "echo", fmt.Sprintf(`,"description":"number %d"`, k+2))
			history = append(history, activated(c, k%3, v))
		}
		c.Sleep(time.Second)
		if _, err := c.Node(1).ActivateVersion(t.Context(), "", "job", first); err != nil {
			t.Fatal(err)
		}
		history = append(history, activated(c, 1, first))
		c.Sleep(time.Second)
		close(stop)
		wg.Wait()

		used := map[string]int{}
		for _, id := range ids {
			got := c.Final(0, id)
			if got.Status != "SUCCESS" || got.Attempt != 1 {
				t.Fatalf("%s", Show(got))
			}
			// Within one millisecond either version may have been active.
			var may []string
			for i, a := range history {
				if !a.at.After(got.StartedAt.Time) && (i+1 == len(history) || !history[i+1].at.Before(got.StartedAt.Time)) {
					may = append(may, a.version)
				}
			}
			// A success leaves no pin, so only a running task shows its version. Its time says which versions are
			// possible.
			if len(may) == 0 {
				t.Fatalf("no version was active at the start of %s", Show(got))
			}
			used[may[0]]++
		}
		if len(ids) < 300 || len(used) != 4 {
			t.Errorf("%d tasks, by version: %v", len(ids), used)
		}
	})
}

// TestRollbackWhileTasksRetry: a task that has begun on the new version stays there, with its retries. A task that
// begins after the rollback runs on the old version. A task can be taken over to the old version by hand (SPEC B2).
func TestRollbackWhileTasksRetry(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		good := pushAs(c, 0, "echo", "")
		bad := pushAs(c, 1, "fails", `,"retry":{"max_attempts":3,"initial_interval":"10s","jitter_percent":0}`)
		c.WorkersReady(3)
		var ids []string
		for i := range 6 {
			ids = append(ids, c.Submit(i%3, "job", `9`))
		}
		for _, id := range ids {
			if got := c.Until(0, id, "attempt:1"); got.Status != "FAILURE" || got.Final || got.Version != bad {
				t.Fatalf("%s", Show(got))
			}
		}
		if d, err := c.Node(2).ActivateVersion(t.Context(), "", "job", strings.Repeat("1", 64)); api.CodeOf(err) != "version_not_found" {
			t.Fatalf("a version that is not kept: %v, %v", d, err)
		}
		d, err := c.Node(2).ActivateVersion(t.Context(), "", "job", good)
		if err != nil || d.Version != good || len(d.Versions) != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		if got := c.Final(1, c.Submit(1, "job", `7`)); got.Status != "SUCCESS" || string(got.Result) != `7` {
			t.Errorf("after the rollback: %s", Show(got))
		}
		leader := c.Leader()
		c.Kill(leader) // the log has the pins
		i := c.Leader(leader)
		for _, id := range ids {
			got := c.Final(i, id)
			if got.Status != "FAILURE" || got.Failures != 3 || got.Version != bad {
				t.Errorf("it left its version: %s", Show(got))
			}
		}
		for k, id := range ids {
			r := api.RetryRequest{ID: id, Version: "active"}
			if k%2 == 1 {
				r.Version = good
			}
			if _, err := c.Node(i).Retry(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if got := c.Wait(i, id, api.GetOptions{Wait: patience, Until: "success"}); got.Status != "SUCCESS" || string(got.Result) != `9` {
				t.Errorf("taken over to the old version: %s", Show(got))
			}
		}
		_, err = c.Node(i).Retry(t.Context(), api.RetryRequest{ID: ids[0], Version: strings.Repeat("0", 64)})
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "version_not_found" || e.Status != 404 {
			t.Errorf("an unknown version: %v", err)
		}
		c.Start(leader)
		if !slices.ContainsFunc(d.Versions, func(v api.BehaviorVersion) bool { return v.Version == bad && !v.Active }) {
			t.Errorf("%+v", d.Versions)
		}
	})
}

// TestDeletedWhileThePushIsLost: a task was leased before its behavior was deleted, and its worker had not heard of it.
// It is still pushed again, and it finishes. The next task waits for a behavior of that name (SPEC B8, L2).
func TestDeletedWhileThePushIsLost(t *testing.T) {
	Run(t, 3, Options{SessionTTL: time.Minute, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		pushAs(c, 0, "wait", "")
		w := c.AddWorker("w1", 1)
		c.WorkersReady(1)
		wantOnce(c, c.Final(0, c.Submit(0, "job", `1`))) // the module is ready there
		leader := c.Leader()
		addr := c.Members[leader].Addr
		c.Net.CutOneWay(addr, w.Addr)
		id, next := c.Submit(leader, "job", `1000`), c.Submit(leader, "job", `2`)
		c.Until(leader, id, "running")
		if err := c.Node(leader).DeleteBehavior(t.Context(), "", "job", false); err != nil {
			t.Fatal(err)
		}
		c.Sleep(time.Second)
		if es := c.Runs.Of(id); len(es) > 0 {
			t.Fatalf("the push arrived: %v", es)
		}
		handOver(c)
		c.Net.Reset(addr, w.Addr)
		c.Net.HealAll()
		i := c.Leader()
		wantOnce(c, c.Final(i, id))
		c.Sleep(time.Minute)
		if got := c.Wait(i, next, api.GetOptions{}); got.Status != "CREATED" || got.Attempt != 0 {
			t.Errorf("%s", Show(got))
		}
		pushAs(c, i, "echo", "")
		if got := c.Final(i, next); got.Status != "SUCCESS" || string(got.Result) != `2` {
			t.Errorf("%s", Show(got))
		}
	})
}
