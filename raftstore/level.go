package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
)

// Level returns the cluster's feature level, as far as this node has applied the log.
func (s *Store) Level() uint64 { return s.fsm.level.Load() }

// ErrLevel is wrapped by the answer to a command of a level that the cluster has not come to. Nothing was proposed.
var ErrLevel = errors.New("raftstore: the cluster's feature level does not know it")

// levelPatience is how long a command waits for its level when every member knows it. A cluster that was just founded gets its level a moment after
// it gets its leader.
const levelPatience = 2 * time.Second

// checkLevel refuses commands that a member may not know.
func (s *Store) checkLevel(ctx context.Context, cmds []task.Command) error {
	for _, c := range cmds {
		if c == nil {
			continue
		}
		if needs := s.cfg.levelOf(c); needs > s.Level() && !reachesLevel(ctx, s, needs) {
			return fmt.Errorf("%w: %T needs level %d, the cluster has %d", ErrLevel, c, needs, s.Level())
		}
	}
	return nil
}

// reachesLevel reports whether the cluster has a level that this node has not seen yet, or comes to it soon.
func reachesLevel(ctx context.Context, s *Store, level uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, levelPatience)
	defer cancel()
	if s.catchUp(ctx) != nil {
		return s.Level() >= level
	}
	for s.Level() < level && len(s.members.Holding(level)) == 0 && ctx.Err() == nil {
		idle.For(ctx, levelPatience/100)
	}
	return s.Level() >= level
}

// levelAfter is for how long all members must know a level before it is raised, so that an upgrade that goes wrong can
// be taken back.
const levelAfter = 10 * time.Minute

// raiseLevel raises the level while this node leads, when the time has come.
func raiseLevel(ctx context.Context, s *Store) {
	s.members.RaiseLevel(ctx, func(ctx context.Context, level uint64) error {
		_, err := s.ProposeLocal(ctx, task.RaiseLevel{Level: level})
		return err
	})
}

// noteLevel writes the level into node.json. So a build that does not know the level finds that out before it reads the
// log.
func (s *Store) noteLevel(ctx context.Context) {
	for {
		if err := s.book.NoteLevel(s.Level()); err != nil {
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
