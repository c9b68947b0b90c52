package raftstore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// ledgerDisk takes its time. It loses what it has not written when its node dies. It tells a ledger which entries it
// has.
type ledgerDisk struct {
	diskStore
	id     string
	ledger *ledger
	slow   atomic.Int64 // the greatest delay in milliseconds

	mu     sync.Mutex
	random *rand.Rand
	dead   atomic.Bool
}

// ledger knows which disk has which entries. It tells them apart by their terms.
type ledger struct {
	mu      sync.Mutex
	has     map[string]map[uint64]uint64
	checked int
}

func (d *ledgerDisk) StoreLogs(es []*raft.Log) error {
	d.mu.Lock()
	took := time.Duration(d.random.Int64N(d.slow.Load())) * time.Millisecond
	d.mu.Unlock()
	<-time.After(took)
	if d.dead.Load() {
		return errCrash
	}
	err := d.diskStore.StoreLogs(es)
	if err == nil {
		d.ledger.mu.Lock()
		defer d.ledger.mu.Unlock()
		for _, e := range es {
			d.ledger.has[d.id][e.Index] = e.Term
		}
	}
	return err
}

func (d *ledgerDisk) DeleteRange(from, to uint64) error {
	last, err := d.LastIndex()
	if err == nil {
		err = d.diskStore.DeleteRange(from, to)
	}
	if err == nil && to >= last { // compacted entries were on the disk, so they still count
		d.ledger.mu.Lock()
		defer d.ledger.mu.Unlock()
		for i := from; i <= to; i++ {
			delete(d.ledger.has[d.id], i)
		}
	}
	return err
}

var ledgerSeeds = flag.Uint64("ledger-seeds", 4, "how many seeds TestAppliedIsOnAMajority tries")

// TestAppliedIsOnAMajority: whatever happens to leaders and followers, and however far their disks are behind, no node
// applies an entry that fewer than two of three disks have. Each command happens exactly once.
func TestAppliedIsOnAMajority(t *testing.T) {
	for seed := range *ledgerSeeds {
		bubble(t, func(t *testing.T, c *cluster) {
			l := &ledger{has: map[string]map[uint64]uint64{"n1": {}, "n2": {}, "n3": {}}}
			disks := map[string]*ledgerDisk{}
			opened := uint64(0)
			ms := three(c, func(cfg *Config) {
				id := cfg.ID
				cfg.wrapDisk = func(d diskStore) diskStore {
					opened++
					disks[id] = &ledgerDisk{diskStore: d, id: id, ledger: l, random: rand.New(rand.NewPCG(seed, opened))}
					disks[id].slow.Store(20)
					return disks[id]
				}
				cfg.onApply = func(index, term uint64) {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.checked++
					n := 0
					for _, has := range l.has { // order-free: a sum
						if has[index] == term {
							n++
						}
					}
					if n < 2 {
						t.Errorf("%s applies entry %d of term %d, which %d disks have", id, index, term, n)
					}
				}
			})
			c.activate(ms[0].store)
			f := faults{c, rand.New(rand.NewPCG(seed, 1)), disks}
			acked := 0
			for i := range 30 {
				acked += f.round(i)
			}
			c.agree()
			for _, m := range ms {
				c.count(m.store, acked)
			}
			if l.checked < 300 {
				t.Fatalf("only %d entries were applied: the test shows nothing", l.checked)
			}
		})
	}
}

// faults lets something happen to the leader or its followers while commands are on their way.
type faults struct {
	*cluster
	random *rand.Rand
	disks  map[string]*ledgerDisk
}

// round returns how many commands were acknowledged, which is all of them.
func (f *faults) round(i int) int {
	victim, fault := f.leader(), f.random.IntN(5)
	if f.random.IntN(2) == 0 {
		f.disks[victim.id].slow.Store(int64(200 + f.random.IntN(1500)))
	}
	followers := f.followers(victim)
	callers := slices.Clone(followers)
	if fault != 0 { // a caller hears nothing from a node that dies
		callers = append(callers, victim)
	}
	answers := make(chan error, 20)
	for n := range cap(answers) {
		id, s := fmt.Sprintf("t%d-%d", i, n), callers[f.random.IntN(len(callers))].store
		go func() {
			rs, err := s.Propose(ctxFor(f.t, time.Hour), submit(id, task.Fail), task.OpenSession{Worker: id, Slots: 1, TTL: 10_000, Proof: []byte("p")})
			if err == nil && (rs[0].Code != task.OK || rs[0].Outcome != task.SubmitCreated || rs[1].Code != task.OK) {
				err = fmt.Errorf("%s: %+v", id, rs)
			}
			answers <- err
		}()
		<-time.After(time.Duration(f.random.Int64N(int64(4 * time.Millisecond))))
	}
	f.strike(fault, victim, followers)
	for range cap(answers) {
		if err := <-answers; err != nil {
			f.t.Fatal(err)
		}
	}
	f.disks[victim.id].slow.Store(20)
	if victim.store == nil {
		f.start(victim, 3, "n1:1", "n2:1", "n3:1")
	}
	return cap(answers)
}

func (f *faults) strike(fault int, leader *member, followers []*member) {
	away := func(most time.Duration, ms ...*member) {
		for _, m := range ms {
			f.net.Isolate(m.addr)
		}
		<-time.After(time.Duration(f.random.Int64N(int64(most))))
		for _, m := range ms {
			f.net.Rejoin(m.addr)
		}
	}
	switch fault {
	case 0:
		f.disks[leader.id].dead.Store(true)
		f.crash(leader)
		if f.random.IntN(2) == 0 { // the node is back at once
			f.start(leader, 3, "n1:1", "n2:1", "n3:1")
		}
	case 1:
		away(3*time.Second, leader)
	case 2:
		away(time.Second, followers[f.random.IntN(2)])
	case 3:
		_ = leader.store.Transfer(ctxFor(f.t, time.Second)) // it may fail
	case 4:
		away(1200*time.Millisecond, followers...) // the leader steps down, and may lead again with its disk behind
	}
}
