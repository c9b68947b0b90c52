package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"
)

var spinFor = flag.Duration("spin", 3*time.Second, "how long guests compute on every slot (make spin FOR=60s)")

// TestSpinningGuestsDisturbNobody: a guest that computes without a pause sits on every worker slot, in every way there is. The
// leader stays, in its term, and answers; no lease is lost; the guests end when they are cancelled, and the slots are free.
func TestSpinningGuestsDisturbNobody(t *testing.T) {
	for _, procs := range []int{1, 2} {
		t.Run(fmt.Sprint("GOMAXPROCS=", procs), func(t *testing.T) {
			const slots = 4
			c := newClusterIn(t, []string{fmt.Sprint("GOMAXPROCS=", procs)}, "--worker-slots", fmt.Sprint(slots))
			c.push("runaway", "echo")
			how := []string{"loop", "recursion", "mutual recursion", "indirect recursion", "fill", "copy", "tables", "br_table"}
			var ids []string
			for i := range slots * len(c.nodes) {
				id := fmt.Sprint("spin-", i)
				ids = append(ids, id)
				c.submit(i%3, map[string]any{"behavior": "runaway", "id": id, "params": how[i%len(how)]})
			}
			workers := map[string]int{}
			for _, id := range ids {
				workers[c.runningOn(id)]++
			}
			if len(workers) != 3 {
				t.Fatalf("guests by worker: %v", workers)
			}
			var answered []string
			c.tries("guests that spin", func(try int) string {
				watch := c.watchLeader()
				answered = c.submitFor(*spinFor, fmt.Sprint("beside-", try))
				return watch()
			})
			for _, id := range ids {
				c.cancel(id)
			}
			for _, id := range ids {
				if got := c.final(id); got.Error == nil || got.Error.Code != "CANCELLED" || got.Attempt != 1 || got.LostCount != 0 {
					t.Errorf("%+v %+v", got, got.Error)
				}
			}
			if got := c.final(answered[len(answered)-1]); got.Status != "SUCCESS" {
				t.Errorf("a task that waited for a slot: %+v", got)
			}
			t.Logf("%d submits were answered meanwhile", len(answered))
		})
	}
}

// submitFor submits a task to each node in turn, one after the other, and returns their IDs, which begin with name. Nothing is refused.
func (c *cluster) submitFor(d time.Duration, name string) (ids []string) {
	c.t.Helper()
	for begin := time.Now(); time.Since(begin) < d; {
		id := fmt.Sprint(name, "-", len(ids))
		c.submit(len(ids)%len(c.nodes), map[string]any{"behavior": "echo", "id": id})
		ids = append(ids, id)
		<-time.After(50 * time.Millisecond)
	}
	return ids
}

func (c *cluster) cancel(id string) {
	c.t.Helper()
	code, data := c.insist(c.t.Context(), 0, "POST", "/v1/tasks/"+id+"/cancel", map[string]any{})
	if code != http.StatusOK && code != http.StatusAccepted {
		c.t.Fatalf("cancel %s: %d %s", id, code, data)
	}
}
