package guard

import (
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestPatience: time-outs grow with lateness, by halves, and at most to four times what is configured.
func TestPatience(t *testing.T) {
	for late, want := range map[time.Duration]float64{
		0: 1, 240 * time.Millisecond: 1, 250 * time.Millisecond: 1.5, 700 * time.Millisecond: 2, time.Second: 3,
		1500 * time.Millisecond: 4, time.Hour: 4, -time.Second: 1,
	} {
		if got := patience(late, time.Second); got != want {
			t.Errorf("late by %v: %v times, want %v", late, got, want)
		}
	}
}

// TestLeaseCanBeChanged: the library keeps its configuration where configOf looks.
func TestLeaseCanBeChanged(t *testing.T) {
	c := raft.DefaultConfig()
	c.LocalID, c.Logger = "n1", hclogTo(slog.New(slog.DiscardHandler))
	_, trans := raft.NewInmemTransport("n1")
	store := raft.NewInmemStore()
	lib, err := raft.NewRaft(c, &recordingFSM{}, store, store, raft.NewDiscardSnapshotStore(), trans)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lib.Shutdown().Error(); err != nil {
			t.Error(err)
		}
	}()
	r := &Raft{}
	r.opened.Store(lib)
	r.setLease(321 * time.Millisecond)
	conf := configOf(lib)
	if conf == nil || conf.Load().(raft.Config).LeaderLeaseTimeout != 321*time.Millisecond {
		t.Fatal("the lease cannot be changed: leaders on busy machines will step down")
	}
	if err := r.Reload(func(c *raft.ReloadableConfig) { c.HeartbeatTimeout = 300 * time.Millisecond }); err == nil {
		t.Error("a lease that is longer than the heartbeats' time-out was taken: the library does not see it")
	}
}
