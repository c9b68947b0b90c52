package raftstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/task"
)

// TestCompanion: companions stand behind the commands of their entry, in the same entry, whatever its size. Each
// companion hears once of its outcome, and nobody else's answer changes.
func TestCompanion(t *testing.T) {
	type heard struct {
		rs  []task.Result
		err error
	}
	inBatcher(t, func(t *testing.T, b batchTest) {
		var told []heard
		rooms := 0
		companion := Companion(func(entry []task.Proposal, room int) ([]task.Command, func([]task.Result, error)) {
			if rooms = room; entry[0].Command.(task.Cancel).Key.ID != "0" {
				t.Errorf("shown %+v", entry[0])
			}
			if len(entry) == 3 {
				return nil, nil // it adds nothing
			}
			with := task.Cancel{Key: task.Key{ID: "with"}}
			return []task.Command{with, with}, func(rs []task.Result, err error) { told = append(told, heard{rs, err}) }
		})
		b.companion.Store(&companion)
		for i, size := range []int{1, maxCommands, 2, 3} {
			c, done := b.put(t, size, 0)
			with := 2
			if size == 3 {
				with = 0
			}
			if got := b.raft.sizes(); !slices.Equal(got, []int{size + with}) {
				t.Fatalf("entries of %v commands, want %d and %d", got, size, with)
			}
			var failed error
			if size == 2 {
				failed = errors.New("lost")
			}
			b.raft.answer(failed)
			synctest.Wait()
			if <-done; failed != nil {
				if got := told[i]; !errors.Is(c.err, ErrOutcomeUnknown) || !errors.Is(got.err, ErrOutcomeUnknown) {
					t.Fatalf("a lost entry: %v, companions %v", c.err, got.err)
				}
				continue
			}
			for j, r := range c.results {
				if r.Message != c.proposals[j].Command.(task.Cancel).Key.ID {
					t.Fatalf("command %d of %d got the answer of %q", j, size, r.Message)
				}
			}
			if with == 0 {
				break
			}
			if got := told[i]; got.err != nil || len(got.rs) != 2 || got.rs[1].Message != "with" {
				t.Fatalf("companions heard %+v", got)
			}
		}
		if len(told) != 3 || rooms != maxCompanions {
			t.Errorf("told %d times, room for %d", len(told), rooms)
		}
	})
}

// TestCompanionOfTheStore: a companion passes through raft and is applied in the same entry as the commands it goes
// with.
func TestCompanionOfTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		s := c.leader().store
		index := make(chan uint64, 1)
		s.Accompany(func(entry []task.Proposal, _ int) ([]task.Command, func([]task.Result, error)) {
			if _, ok := entry[0].Command.(task.DrainNode); !ok {
				return nil, nil
			}
			return []task.Command{task.DrainNode{Node: "n9", Drain: true}}, func(rs []task.Result, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				index <- rs[0].Index
			}
		})
		rs, err := s.Propose(context.Background(), task.DrainNode{Node: "n8", Drain: true})
		if err != nil || rs[0].Code != task.OK {
			t.Fatal(rs, err)
		}
		if got := <-index; got != rs[0].Index {
			t.Errorf("the companion was applied in entry %d, not %d", got, rs[0].Index)
		}
		s.Accompany(nil)
		if _, err := s.Propose(context.Background(), task.DrainNode{Node: "n8"}); err != nil {
			t.Fatal(err)
		}
		s.Local(func(m *task.Machine) {
			if !m.Drained("n9") || m.Drained("n8") {
				t.Error("not as proposed")
			}
		})
	})
}
