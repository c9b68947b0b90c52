package linear

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

var heal = flag.Int("linear.heal", 0, "how many partitions TestHealedPartition heals")

// TestHealedPartition shows how soon a follower is ready that packets did not reach for a while, in a cluster at work (SPEC C10): make heal.
func TestHealedPartition(t *testing.T) {
	needsProcesses(t)
	if *heal == 0 {
		t.Skip("without -linear.heal: takes minutes (make heal)")
	}
	c := startCluster(t, buildBinary(t))
	if !c.lab.partitions() {
		t.Skip("no network namespaces here")
	}
	var late []time.Duration
	var done atomic.Bool
	_, violation := drill(t, c, *seed, func(ctx context.Context) []string {
		defer done.Store(true)
		late = c.healEach(ctx, *seed)
		return nil
	}, done.Load)
	if violation != nil {
		c.fail("%v", violation)
	}
	if len(late) < *heal {
		t.Fatalf("only %d partitions were healed", len(late))
	}
	slices.Sort(late)
	t.Logf("ready after a partition was healed: median %v, the last %v; all: %v", late[len(late)/2], late[len(late)-1], late)
}

// healEach cuts a follower off, again and again, and returns how late it was ready each time.
func (c *cluster) healEach(ctx context.Context, seed uint64) (late []time.Duration) {
	r := rand.New(rand.NewPCG(seed, 0x4ea1))
	for len(late) < *heal && idle.For(ctx, time.Second) {
		leader := c.leader()
		if leader < 0 {
			continue
		}
		follower := (leader + 1 + r.IntN(hosts-1)) % hosts
		c.isolate(follower, c.lab.cut)
		idle.For(ctx, time.Duration(1000+r.IntN(14_000))*time.Millisecond)
		c.isolate(follower, c.lab.heal)
		begun := time.Now()
		c.becomes("the follower is ready", func() bool { return c.isReady(follower) })
		late = append(late, time.Since(begun).Round(10*time.Millisecond))
	}
	return late
}
