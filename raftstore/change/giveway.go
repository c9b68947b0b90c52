package change

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/raftstore/members"
)

const (
	askTime  = 500 * time.Millisecond // for the answer of a voter that might lead instead
	handTime = time.Second            // for the handing over; raft itself may wait for the disk
)

// GiveWay hands leadership over while the disk of this node is slow, if there is a voter whose disk is not slow (SPEC C10). It looks when slow tells
// it to, until ctx ends. If all disks are slow, this node leads on: a slow leader is better than none.
func (m *Changes) GiveWay(ctx context.Context, slow <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-slow:
		}
		for m.c.Raft.State() == raft.Leader && m.c.Raft.Slow() && ctx.Err() == nil {
			m.giveWay(ctx)
			idle.For(ctx, time.Second)
		}
	}
}

func (m *Changes) giveWay(ctx context.Context) {
	term := m.c.Raft.CurrentTerm()
	heir := m.fittest(ctx)
	if heir == "" || m.c.Raft.State() != raft.Leader {
		return
	}
	m.c.Logger.Warn("the disk is slow: handing leadership over", "to", heir, "term", term)
	within, cancel := context.WithTimeout(ctx, handTime)
	defer cancel()
	if err := m.HandOver(within, heir); err != nil && ctx.Err() == nil {
		m.c.Logger.Warn("leadership transfer failed: the followers are to elect another leader", "err", err)
		m.c.Raft.Mute(term)
	}
}

// fittest returns the ID of the voter that has applied most among those that answer and whose disks are not slow; "":
// there is none.
func (m *Changes) fittest(ctx context.Context) (heir string) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	type answer struct {
		id raft.ServerID
		members.Health
		err error
	}
	answers, asked := make(chan answer), 0
	for _, srv := range m.c.Raft.Servers() {
		if srv.Suffrage != raft.Voter || string(srv.Address) == m.c.Identity {
			continue
		}
		asked++
		go func() {
			a, err := m.c.Health(ctx, string(srv.Address))
			answers <- answer{srv.ID, a, err}
		}()
	}
	var best uint64
	for range asked {
		if a := <-answers; a.err == nil && !a.Stopped && !a.Slow && (heir == "" || a.Applied > best) {
			heir, best = string(a.id), a.Applied
		}
	}
	return heir
}
