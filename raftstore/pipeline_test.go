package raftstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestLoneCommit: followers know a commit that nothing comes after, long before CommitTimeout. The network takes no time here.
func TestLoneCommit(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		time.Sleep(10 * time.Second) // pipelines are there
		for i := range 20 {
			id := fmt.Sprint("task", i)
			c.propose(leader.store, submit(id, task.Join))
			begun := time.Now()
			for _, m := range ms {
				for !c.has(m.store, id) {
					time.Sleep(100 * time.Microsecond)
				}
			}
			if late := time.Since(begun); late > 5*time.Millisecond {
				t.Errorf("%s was known everywhere after %v", id, late)
			}
			time.Sleep(time.Second)
		}
	})
}
