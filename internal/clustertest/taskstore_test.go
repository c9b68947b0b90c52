package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// storeWorker moves records from one group to another, as a client of the TaskStore API does (SPEC X2). It claims a
// record, works, and makes one update that deletes the record and adds another.
type storeWorker struct {
	c      *Cluster
	id     int64
	random *rand.Rand

	gone, unsure int // updates that did nothing, and updates that perhaps did something
}

// call does f through a node that is up, and reports whether f was certainly done.
func (w *storeWorker) call(f func(ctx context.Context, n *node.Node) error) bool {
	n := w.c.Members[w.random.IntN(len(w.c.Members))].up()
	if n == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(w.c.t.Context(), 5*time.Second)
	defer cancel()
	err := f(ctx, n)
	if judge(err) == definite && err != nil {
		w.c.t.Errorf("client %d: %v", w.id, err)
	}
	if judge(err) == unknown {
		w.unsure++
	}
	return err == nil
}

// work ends when the group is empty.
func (w *storeWorker) work() {
	for w.c.t.Context().Err() == nil {
		var got, left []*api.StoreTask
		claimed := w.call(func(ctx context.Context, n *node.Node) error {
			reply, err := n.StoreClaim(ctx, api.StoreClaimRequest{ClientID: w.id, Group: "todo", Duration: 20 * time.Second})
			if err == nil {
				got = reply.Tasks
			}
			return err
		})
		if len(got) == 0 {
			if claimed && w.call(func(ctx context.Context, n *node.Node) (err error) {
				left, err = api.CollectStore(n.StoreGroup(ctx, "", "todo", 1, true))
				return err
			}) && len(left) == 0 {
				return
			}
			time.Sleep(500 * time.Millisecond)
			continue
		}
		time.Sleep(time.Duration(w.random.Int64N(int64(100 * time.Millisecond))))
		w.finish(got[0])
	}
}

// finish sends the update until it knows that there is nothing more to do.
func (w *storeWorker) finish(x *api.StoreTask) {
	done := false
	for !done && w.c.t.Context().Err() == nil {
		done = w.call(func(ctx context.Context, n *node.Node) error {
			reply, err := n.StoreUpdate(ctx, api.StoreUpdateRequest{
				ClientID: w.id, Adds: []api.StoreAdd{{Group: "done", Data: x.Data}}, Deletes: []uint64{x.ID},
			})
			if err == nil && reply.Errors != nil {
				w.gone++
			}
			return err
		})
		if !done {
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// TestTaskStoreSurvivesLeaders: leaders die or are cut off while clients claim and finish records through all nodes.
// Every record is finished once, whatever was lost on the way. A claim whose answer was lost ends by itself.
func TestTaskStoreSurvivesLeaders(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		const records = 2_000
		var adds []api.StoreAdd
		for i := range records {
			adds = append(adds, api.StoreAdd{Group: "todo", Data: fmt.Sprint(i)})
		}
		if reply, err := c.Node(c.Leader()).StoreUpdate(t.Context(), api.StoreUpdateRequest{ClientID: 99, Adds: adds}); err != nil || reply.Errors != nil {
			t.Fatal(reply, err)
		}
		workers := make([]*storeWorker, 4)
		var wg sync.WaitGroup
		for i := range workers {
			workers[i] = &storeWorker{c: c, id: int64(i), random: rand.New(rand.NewPCG(uint64(i), 5))}
			wg.Go(workers[i].work)
		}
		for round := range 6 {
			c.Sleep(4 * time.Second)
			victim := c.Leader()
			if round%2 == 0 {
				c.Net.Isolate(c.Members[victim].Addr)
				c.Sleep(8 * time.Second)
				c.Net.Rejoin(c.Members[victim].Addr)
				continue
			}
			c.Kill(victim)
			c.Sleep(3 * time.Second)
			c.Start(victim)
		}
		wg.Wait()
		done, err := api.CollectStore(c.Node(c.Leader()).StoreGroup(t.Context(), "", "done", 0, true))
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for _, x := range done {
			times[x.Data]++
		}
		for data, n := range times {
			if n != 1 {
				t.Errorf("record %s was finished %d times", data, n)
			}
		}
		if len(times) != records {
			t.Errorf("%d records were finished, want %d", len(times), records)
		}
		gone, unsure := 0, 0
		for _, w := range workers {
			gone, unsure = gone+w.gone, unsure+w.unsure
		}
		t.Logf("%d updates did nothing, of %d calls the outcome was unknown", gone, unsure)
		if unsure == 0 {
			t.Error("no call was hit: the test shows nothing")
		}
	})
}

// TestTaskStoreKeyed: under an Idempotency-Key a claim and an add happen once, whichever nodes take them (SPEC H4).
func TestTaskStoreKeyed(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Leader()
		once := func(key uint64) context.Context { return api.WithOnce(t.Context(), api.Once{Key: key, Body: 1}) }
		var first []uint64
		for i := range c.Members {
			add, err := c.Node(i).StoreUpdate(once(1), api.StoreUpdateRequest{ClientID: 1, Adds: []api.StoreAdd{{Group: "g"}, {Group: "g"}}})
			if err != nil || len(add.Tasks) != 2 {
				t.Fatal(add, err)
			}
			claim, err := c.Node(i).StoreClaim(once(2), api.StoreClaimRequest{ClientID: 1, Group: "g", Duration: time.Minute})
			if err != nil || len(claim.Tasks) != 1 {
				t.Fatal(claim, err)
			}
			ids := []uint64{add.Tasks[0].ID, add.Tasks[1].ID, claim.Tasks[0].ID}
			if first == nil {
				first = ids
			}
			if fmt.Sprint(ids) != fmt.Sprint(first) {
				t.Errorf("node %d: %v, want %v", i, ids, first)
			}
		}
		if left, err := api.CollectStore(c.Node(0).StoreGroup(t.Context(), "", "g", 0, false)); err != nil || len(left) != 1 {
			t.Errorf("%d are available, %v; want 1", len(left), err)
		}
		// The minute is over for a record when it is over for the node that is asked, although nothing was written since.
		c.Sleep(time.Minute)
		for i := range c.Members {
			if left, err := api.CollectStore(c.Node(i).StoreGroup(t.Context(), "", "g", 0, false)); err != nil || len(left) != 2 {
				t.Errorf("%d are available after the minute, %v; want 2", len(left), err)
			}
		}
	})
}
