package guard

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hashicorp/raft"
)

const (
	mostPatience = 4 // times the configured time-outs
	lookEvery    = time.Second
)

// patience returns by how much the time-outs grow when this process is late by up to worst: twice the lateness is added
// to a time-out, because both ends of a connection may be late. Small steps are left out: a change of a time-out makes the
// library look whether a leader is there.
func patience(worst, timeout time.Duration) float64 {
	steps := 2 + int(4*worst/timeout) // halves
	return float64(min(max(steps, 2), 2*mostPatience)) / 2
}

// BePatient lets raft's time-outs grow and shrink with how late this process is, until ctx ends (SPEC C10). worst says by
// how much the process was late at most in the last half a minute. A process that gets no processor for a second would
// otherwise take its peers for dead, or, as a leader, itself for cut off, when it runs again.
func (r *Raft) BePatient(ctx context.Context, worst func() time.Duration) {
	base := r.opened.Load().ReloadableConfig()
	lease := r.lease
	now := 1.0
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next := patience(worst(), base.HeartbeatTimeout)
		if next == now {
			continue
		}
		times := func(d time.Duration) time.Duration { return time.Duration(next * float64(d)) }
		if next < now {
			r.setLease(times(lease)) // it must never be longer than the other two
		}
		err := r.Reload(func(c *raft.ReloadableConfig) {
			c.HeartbeatTimeout, c.ElectionTimeout = times(base.HeartbeatTimeout), times(base.ElectionTimeout)
		})
		if err != nil {
			r.logger.Error("cannot change raft's time-outs", "err", err)
			continue
		}
		r.setLease(times(lease))
		r.logger.Info("raft's time-outs follow how late this process is", "times", next, "late", worst())
		now = next
	}
}

// Reload changes what the library lets change while it runs.
func (r *Raft) Reload(change func(*raft.ReloadableConfig)) error {
	r.reload.Lock()
	defer r.reload.Unlock()
	lib := r.opened.Load()
	c := lib.ReloadableConfig()
	change(&c)
	if err := lib.ReloadConfig(c); err != nil {
		return fmt.Errorf("raftstore: reload: %w", err)
	}
	return nil
}

// setLease changes how long a leader leads without an answer of a majority. The library reads it anew at each look, and
// lets nobody change it. Where a later version keeps its configuration otherwise, the lease stays as it is
// (TestLeaseCanBeChanged).
func (r *Raft) setLease(lease time.Duration) {
	r.reload.Lock()
	defer r.reload.Unlock()
	if conf := configOf(r.opened.Load()); conf != nil {
		c := conf.Load().(raft.Config)
		c.LeaderLeaseTimeout = lease
		conf.Store(c)
	}
}

// configOf returns where the library keeps its configuration; nil: somewhere else.
func configOf(lib *raft.Raft) *atomic.Value {
	field := reflect.ValueOf(lib).Elem().FieldByName("conf")
	if !field.IsValid() || field.Type() != reflect.TypeFor[atomic.Value]() {
		return nil
	}
	conf := (*atomic.Value)(unsafe.Pointer(field.UnsafeAddr()))
	if _, ok := conf.Load().(raft.Config); !ok {
		return nil
	}
	return conf
}
