package clustertest

import (
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestExpress: with a free slot a task runs from the entry on that creates it, whichever node took it in (SPEC T1).
// Without a free slot it waits its turn for a plan.
func TestExpress(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, Slots: 2}, func(t *testing.T, c *Cluster) {
		var mu sync.Mutex
		first := map[string]task.Status{} // the status at the entry that creates the task
		c.Audit.Rule(func(_ uint64, tasks map[task.Key]*task.Task) error {
			mu.Lock()
			defer mu.Unlock()
			for k, x := range tasks { // order-free: each is looked at by itself
				if _, ok := first[k.ID]; !ok {
					first[k.ID] = x.Status
				}
			}
			return nil
		})
		began := func(id string) task.Status {
			mu.Lock()
			defer mu.Unlock()
			return first[id]
		}
		c.Push(0, "echo")
		c.WorkersReady(3)
		for i := range 30 {
			id := c.Submit(i%3, "echo", `{"n":1}`)
			if got := c.Final(i%3, id); got.Status != "SUCCESS" || got.Attempt != 1 {
				t.Fatalf("task %d: %s", i, Show(got))
			}
			time.Sleep(100 * time.Millisecond) // for the worker's news of free slots, and for the audit
			if s := began(id); s != task.Running {
				t.Errorf("task %d was %v when it was created", i, s)
			}
		}

		leader := c.Leader()
		c.Kill(leader)
		c.Start(leader)
		c.WorkersReady(3)
		time.Sleep(2 * ttl)
		id := c.Submit(1, "echo", `{"n":2}`)
		got := c.Final(1, id)
		time.Sleep(100 * time.Millisecond)
		if got.Status != "SUCCESS" || began(id) != task.Running {
			t.Errorf("under the next leader: %s, created %v", Show(got), began(id))
		}
	})
}
