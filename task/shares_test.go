package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// crowdedCluster is one worker and some namespaces, each with more due tasks than it will ever run. Time passes by the
// millisecond; a task takes as long as its namespace says.
type crowdedCluster struct {
	t      *testing.T
	rig    *rig
	shares task.Shares
	slots  int
	takes  map[string]task.Millis
	ends   map[task.Key]task.LeaseTime
	used   map[string]int64 // milliseconds of slots, by namespace
	starts map[string]int64
	made   int
}

func newCrowdedCluster(t *testing.T, slots int, weights map[string]int64, takes map[string]task.Millis) *crowdedCluster {
	c := &crowdedCluster{
		t: t, rig: newRig(t, nil), slots: slots, takes: takes,
		ends: map[task.Key]task.LeaseTime{}, used: map[string]int64{}, starts: map[string]int64{},
	}
	c.rig.unchecked = 997
	c.rig.must(task.OpenSession{Worker: "w", Slots: int64(slots), TTL: 1 << 40})
	for ns, weight := range weights {
		c.rig.must(task.PutNamespace{Name: ns, Create: true, Share: &task.Share{Weight: weight}})
		c.rig.must(task.Activate{Namespace: ns, Module: task.Module{Digest: "m-" + ns, Version: "v"}, Behaviors: []task.Activated{{Name: "work", Policy: task.DefaultPolicy()}}})
	}
	return c
}

// submit makes n due tasks of priority 9 in a namespace.
func (c *crowdedCluster) submit(ns string, n int) {
	for range n {
		c.made++
		c.rig.must(task.Submit{Namespace: ns, ID: fmt.Sprint("task-", c.made), Behavior: "work", Priority: 9})
	}
}

// pass lets milliseconds pass.
func (c *crowdedCluster) pass(d task.Millis) {
	for range d {
		c.rig.h.Now++
		c.rig.h.LeaseNow++
		for k, end := range c.ends {
			if c.used[k.Namespace]++; end <= c.rig.h.LeaseNow {
				delete(c.ends, k)
				c.rig.must(task.Finish{Key: k, Token: c.rig.m.Task(k).Lease.Token})
			}
		}
		id := c.rig.m.Sessions()[1].ID
		for _, a := range c.shares.Plan(c.rig.m, []task.Free{{Session: id, Slots: c.slots - len(c.ends)}}, 100) {
			c.rig.must(a)
			c.ends[a.Key] = c.rig.h.LeaseNow + task.LeaseTime(c.takes[a.Key.Namespace])
			c.starts[a.Key.Namespace]++
		}
	}
}

// ratio returns how much of the slots b had for each part of a, in thousandths, and begins anew.
func (c *crowdedCluster) ratio(a, b string) int64 {
	r := 1000 * c.used[b] / max(c.used[a], 1)
	clear(c.used)
	return r
}

// TestSharesByWeight: two namespaces that flood a cluster get its slots by their weights, over every second, however long their
// tasks take and however few the slots are (SPEC N2).
func TestSharesByWeight(t *testing.T) {
	for _, x := range []struct {
		slots     int
		blue, red task.Millis // how long a task takes
	}{{1, 10, 10}, {6, 10, 10}, {6, 50, 5}, {6, 5, 50}, {16, 3, 40}, {3, 7, 7}} {
		c := newCrowdedCluster(t, x.slots, map[string]int64{"blue": 1, "red": 3}, map[string]task.Millis{"blue": x.blue, "red": x.red})
		c.submit("blue", 6000)
		c.submit("red", 4000)
		c.pass(500)
		c.ratio("blue", "red")
		for second := range 3 {
			c.pass(1000)
			if r := c.ratio("blue", "red"); r < 2700 || r > 3300 {
				t.Errorf("%+v: in second %d red had %d.%03d times as much as blue, want 3", x, second, r/1000, r%1000)
			}
		}
	}
}

// TestSharesAreForThoseWhoWait: what nobody else wants is anybody's; who comes gets the next slots, for whatever the others
// did before, and waits for no more than those that are held.
func TestSharesAreForThoseWhoWait(t *testing.T) {
	c := newCrowdedCluster(t, 6, map[string]int64{"flood": 100, "calm": 1}, map[string]task.Millis{"flood": 30, "calm": 30})
	c.submit("flood", 3000)
	c.pass(2000)
	if c.used["flood"] < 6*1990 {
		t.Errorf("alone it had %d ms of six slots in 2 s", c.used["flood"])
	}
	for range 20 {
		before := c.starts["calm"]
		c.submit("calm", 1)
		c.pass(31)
		if c.starts["calm"] != before+1 {
			t.Fatalf("beside a flood with a hundred times its weight, a task waited for longer than a slot is held")
		}
		c.pass(100)
	}
}

// TestNobodyWaitsForWhatAnotherHad: who held all slots for long while others waited, because its tasks are long, is not made to
// wait for as long (Shares).
func TestNobodyWaitsForWhatAnotherHad(t *testing.T) {
	c := newCrowdedCluster(t, 5, map[string]int64{"long": 10, "short": 10}, map[string]task.Millis{"long": 20_000, "short": 50})
	c.submit("long", 4)
	c.pass(1)
	c.submit("long", 1000)
	c.submit("short", 1000)
	c.pass(19_990)
	c.takes["long"] = 50
	c.pass(1500) // that much is remembered
	before := c.starts["long"]
	c.pass(1000)
	if c.starts["long"] < before+20 {
		t.Errorf("in a second a namespace got %d of about a hundred starts, for what it had held before", c.starts["long"]-before)
	}
}
