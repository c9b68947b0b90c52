package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/task"
)

// Level returns the cluster's feature level, as far as this node has applied the log.
func (s *Store) Level() uint64 { return s.fsm.level.Load() }

// ErrLevel is wrapped by the answer to a command of a level that the cluster has not come to. Nothing was proposed.
var ErrLevel = errors.New("raftstore: the cluster's feature level does not know it")

// checkLevel refuses commands that a member may not know.
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

// levelAfter is for how long all members must know a level before it is raised, so that an upgrade that goes wrong can
// be taken back.
const levelAfter = 10 * time.Minute

// raiseLevel raises the level while this node leads, when the time has come.
func (s *Store) raiseLevel(ctx context.Context) {
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
