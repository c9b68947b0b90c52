package members

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The format and the feature level of a cluster (SPEC C9). When nodes greet, they tell each other which format they
// speak, and up to which level they know what the log may hold. A node that speaks another format, or knows less than
// the cluster has come to, is told so and goes no further. The leader raises the level when all members have known the
// next one for long enough.

// formatError says why this node cannot talk to a node of another build. It returns "" if it can.
func (m *Members) formatError(who string, format uint64) string {
	own := m.book.self.Format
	switch format {
	case own:
		return ""
	case 0: // of builds that told none
		return fmt.Sprintf("%s is of a build from before 0.1.0 that keeps its log in another format (this one has format %d): they form no cluster; %s", who, own, moveOver)
	}
	return fmt.Sprintf("%s keeps its log in format %d, and this build reads %d: they form no cluster", who, format, own)
}

// moveOver says how the content of a directory in the former format gets into a cluster of this build.
const moveOver = "with the former build, run `taskrt ns export NAME --file FILE` for each namespace, then found a new cluster with this one and run `taskrt namespace import NAME FILE`"

// levelError says why a node that knows levels up to known cannot be in a cluster of this level. It returns "" if it
// can.
func levelError(who string, known, level uint64) string {
	if known >= level {
		return ""
	}
	return fmt.Sprintf("the cluster's feature level is %d, and %s knows %d at most: start a newer build there", level, who, known)
}

// refuseBuild says why the sender of h cannot be a member of this node's cluster. It returns "" if it can.
func (m *Members) refuseBuild(h *hello) string {
	who := "node " + h.Self.ID
	if why := m.formatError(who, h.Self.Format); why != "" {
		return why
	}
	return levelError(who, h.Self.Level, m.c.Level())
}

// levelEvery is how often the leader asks the members which level they know. levelSoon is how often it asks those that have founded the
// cluster just now: clients are waiting for what comes with the level.
const (
	levelEvery = 10 * time.Second
	levelSoon  = 200 * time.Millisecond
)

// RaiseLevel raises the level as far as this build knows levels, and then returns. It runs on the leader. raise
// replicates a level.
func (m *Members) RaiseLevel(ctx context.Context, raise func(ctx context.Context, level uint64) error) {
	since := map[string]time.Time{} // when each member first said in this term that it knows the next level
	tick := time.NewTimer(levelEvery)
	defer tick.Stop()
	for {
		next := m.c.Level() + 1
		if next > m.book.self.Level {
			return
		}
		if m.allKnow(ctx, next, since) {
			if raise(ctx, next) == nil {
				m.c.Logger.Info("feature level raised", "level", next)
				clear(since)
				continue
			}
		}
		tick.Reset(levelEvery)
		if m.atOnce(next) {
			tick.Reset(levelSoon)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// allKnow asks all members whether they know a level, and reports whether each has known it for long enough. A member
// that does not answer, or that holds the level back, is waited for.
func (m *Members) allKnow(ctx context.Context, level uint64, since map[string]time.Time) bool {
	all, after := true, m.c.LevelAfter
	if m.atOnce(level) {
		after = 0
	}
	for _, srv := range m.raft.Servers() {
		identity := string(srv.Address)
		known, held := m.book.self.Level, m.book.self.Hold
		if identity != m.identity {
			a, err := m.c.Health(ctx, identity)
			known, held = a.Level, a.Hold
			if err != nil {
				all = false // what it has said before still counts
				continue
			}
		}
		if known < level || held {
			delete(since, identity)
			all = false
			continue
		}
		if since[identity].IsZero() {
			since[identity] = time.Now()
		}
		all = all && time.Since(since[identity]) >= after
	}
	return all
}

// Holding lists the members that keep the level from being raised to next: members that do not know next, and members
// that hold the level back, as they said when they started.
func (m *Members) Holding(next uint64) (ids []string) {
	for _, srv := range m.raft.Servers() {
		if p, ok := m.book.Lookup(string(srv.Address)); !ok || p.Level < next || p.Hold {
			ids = append(ids, string(srv.ID))
		}
	}
	slices.Sort(ids)
	return ids
}
