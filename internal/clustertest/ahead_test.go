package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestAhead: short tasks are leased ahead of free slots, and no task is given back because of it: neither when long
// tasks come among them, nor when long tasks fill their workers. The first task in order is not overtaken for ever.
func TestAhead(t *testing.T) {
	naps := func(ctx context.Context, j *Job) (string, error) {
		ms, err := strconv.Atoi(string(j.Raw))
		if err != nil {
			return "", err
		}
		return "1", j.Sleep(ctx, time.Duration(ms)*time.Millisecond)
	}
	Run(t, 3, Options{NoWorkers: true, Guest: naps, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		var most atomic.Int64 // the most leases at a time
		c.Audit.Rule(func(_ uint64, tasks map[task.Key]*task.Task) error {
			n := int64(0)
			for _, x := range tasks { // order-free: it counts
				if x.Status == task.Running {
					n++
				}
			}
			if n > most.Load() {
				most.Store(n)
			}
			return nil
		})
		wasm, _, err := Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[{"name":"short"},{"name":"long"}]}`))
		c.AddWorker("w1", 4)
		c.AddWorker("w2", 4)
		c.WorkersReady(2)

		var ids []string
		once := func(what string, slots bool) {
			t.Helper()
			for _, id := range ids {
				if got := c.Final(1, id); got.Status != "SUCCESS" || got.Attempt != 1 {
					t.Fatalf("%s: %s", what, Show(got))
				}
			}
			if n := most.Load(); slots != (n <= 8) {
				t.Errorf("%s: %d leases at a time", what, n)
			}
			ids = ids[:0]
			most.Store(0)
		}
		for range 100 {
			ids = append(ids, c.Submit(0, "short", "1"))
			c.Final(0, ids[len(ids)-1])
		}
		once("one after the other", true)
		for range 8 {
			ids = append(ids, c.Submit(0, "long", "400"))
		}
		for range 300 {
			ids = append(ids, c.Submit(0, "short", "1"))
		}
		once("short ones behind long ones", false)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 400 {
			if rng.IntN(8) == 0 {
				ids = append(ids, c.Submit(i%3, "long", fmt.Sprint(200+rng.IntN(2000))))
			} else {
				ids = append(ids, c.Submit(i%3, "short", fmt.Sprint(1+rng.IntN(3))))
			}
		}
		once("mixed", false)
	})
}
