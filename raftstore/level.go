package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// The format and the feature level of a cluster (SPEC C9). Nodes tell each other at the greeting which format they speak and up to
// which level they know what the log may hold. Whoever speaks another format, or knows less than the cluster has come to, is told
// so and goes no further. The leader raises the level when all members have known the next one for long enough.

// formatError says why a node of another build cannot be talked to; "" if it can be.
func formatError(who string, format uint64) string {
	switch format {
	case wire.Format:
		return ""
	case 0: // of builds that told none
		return fmt.Sprintf("%s is of a build from before 0.1.0 that keeps its log in another format (this one has format %d): they form no cluster; %s", who, wire.Format, moveOver)
	}
	return fmt.Sprintf("%s keeps its log in format %d, and this build reads %d: they form no cluster", who, format, wire.Format)
}

// moveOver says how the content of a directory of the former format gets into a cluster of this one.
const moveOver = "with the former build, run `taskrt ns export NAME --file FILE` for each namespace, then found a new cluster with this one and run `taskrt ns import NAME FILE`"

// levelError says why a node that knows levels up to known cannot be in a cluster of a level; "" if it can.
func levelError(who string, known, level uint64) string {
	if known >= level {
		return ""
	}
	return fmt.Sprintf("the cluster's feature level is %d, and %s knows %d at most: start a newer build there", level, who, known)
}

// refuseBuild says why the sender of h can be no member of this node's cluster, or "".
func (s *Store) refuseBuild(h *hello) string {
	who := "node " + h.Self.ID
	if why := formatError(who, h.Self.Format); why != "" {
		return why
	}
	return levelError(who, h.Self.Level, s.Level())
}

// Level returns the cluster's feature level, as far as this node has applied.
func (s *Store) Level() uint64 { return s.fsm.level.Load() }

// ErrLevel is wrapped by the answer to a command of a level that the cluster has not come to. Nothing was proposed.
var ErrLevel = errors.New("raftstore: the cluster's feature level does not know it")

// checkLevel refuses commands that some member may not know.
func (s *Store) checkLevel(cmds []task.Command) error {
	level := s.Level()
	for _, c := range cmds {
		if c == nil {
			continue
		}
		if needs := s.cfg.levelOf(c); needs > level {
			return fmt.Errorf("%w: %T needs level %d, the cluster has %d", ErrLevel, c, needs, level)
		}
	}
	return nil
}

// Raising.
const (
	levelEvery = 10 * time.Second
	// levelAfter is for how long all members must have known a level: so that an upgrade that goes wrong can be taken back.
	levelAfter = 10 * time.Minute
)

// raiseLevel runs on the leader, until nothing is left to be raised.
func (s *Store) raiseLevel(ctx context.Context) {
	since := map[string]time.Time{} // when each member first said that it knows the next level, in this term
	tick := time.NewTicker(levelEvery)
	defer tick.Stop()
	for {
		next := s.Level() + 1
		if next > s.cfg.KnownLevel {
			return
		}
		if s.allKnow(ctx, next, since) {
			if _, err := s.ProposeLocal(ctx, task.RaiseLevel{Level: next}); err == nil {
				s.log.Info("feature level raised", "level", next)
				clear(since)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// allKnow asks all members whether they know a level, and reports whether each has for long enough. One that does not answer, or
// holds the level back, is waited for.
func (s *Store) allKnow(ctx context.Context, level uint64, since map[string]time.Time) bool {
	all := true
	for _, m := range s.servers() {
		identity := string(m.Address)
		known, held := s.cfg.KnownLevel, s.cfg.HoldLevel
		if identity != s.identity {
			a, err := s.askDigest(ctx, identity, 0)
			known, held = a.Level, a.Hold
			if err != nil {
				all = false // it stays as long known as it was
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
		all = all && time.Since(since[identity]) >= s.cfg.LevelAfter
	}
	return all
}

// holding lists the members that keep the level from being raised: they know no higher one, or hold it back, by what they said
// when they started. next: the level that would come.
func (s *Store) holding(next uint64) (ids []string) {
	for _, m := range s.servers() {
		if p, ok := s.book.lookup(string(m.Address)); !ok || p.Level < next || p.Hold {
			ids = append(ids, string(m.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

// noteLevel writes the level into node.json, so that a build which does not know it finds that out before it reads the log.
func (s *Store) noteLevel(ctx context.Context) {
	for {
		if err := s.book.noteLevel(s.Level()); err != nil {
			s.fail(fmt.Errorf("%w: %w", ErrDiskFailed, err))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.leveled:
		}
	}
}
