package task_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// answersOf lists the answers of a Frozen: process or key, number, task.
func answersOf(f *task.Frozen) (answers []string) {
	for x := range f.Records {
		if a, ok := x.(*task.Answer); ok {
			answers = append(answers, fmt.Sprintf("%d/%d=%s", a.Process, a.Seq, a.Result.Task.ID))
		}
	}
	return answers
}

// TestAnswersOvertaken: the callers of a process overtake each other. Its answers are kept in the order of their numbers, and
// what a snapshot shows does not change with what is answered later.
func TestAnswersOvertaken(t *testing.T) {
	for name, body := range map[string]uint64{"process": 0, "key": 9} {
		t.Run(name, func(t *testing.T) {
			m := task.NewMachine()
			var all []string
			var frozen []*task.Frozen
			var were [][]string
			index := uint64(1)
			m.Apply(task.Header{Index: index, Term: 1, Now: 1, LeaseNow: 1}, []task.Proposal{{Command: task.Activate{
				Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}},
			}}})
			for _, seq := range []uint64{1, 5, 9, 7, 3, 8, 11, 2, 12, 4, 6, 10} {
				index++
				id := fmt.Sprintf("task-%d", seq)
				rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 1, LeaseNow: 1}, []task.Proposal{{
					Origin:  task.Origin{Process: 7, Seq: seq, Lowest: 1, Body: body},
					Command: task.Submit{Namespace: task.DefaultNamespace, ID: id, Behavior: "echo"},
				}})
				if rs[0].Code != task.OK {
					t.Fatalf("%d: %+v", seq, rs[0])
				}
				if err := m.Check(); err != nil {
					t.Fatal(err)
				}
				all = append(all, fmt.Sprintf("%d/%d=%s", 7, seq, id))
				if seq%3 != 0 { // several answers between two of them, too
					frozen = append(frozen, m.Freeze())
					were = append(were, answersOf(frozen[len(frozen)-1]))
				}
			}
			for i, f := range frozen {
				if now := answersOf(f); !slices.Equal(now, were[i]) {
					t.Errorf("what was frozen has become %v, was %v", now, were[i])
				}
			}
			got := answersOf(m.Freeze())
			if slices.Sort(all); len(got) != len(all) {
				t.Errorf("%d answers, want %d", len(got), len(all))
			}
			slices.Sort(got)
			if !slices.Equal(got, all) {
				t.Errorf("answers %v, want %v", got, all)
			}
		})
	}
}

// TestOvertakenAnswersAreNotCopied: two callers of a process, each with many commands on the way, the second first. A copy of the
// list for each of them was most of the work of a busy cluster.
func TestOvertakenAnswersAreNotCopied(t *testing.T) {
	const n = 2000
	m := task.NewMachine()
	entry := func(index, first uint64) {
		ps := make([]task.Proposal, n)
		for i := range ps {
			ps[i] = task.Proposal{Origin: task.Origin{Process: 7, Seq: first + uint64(i), Lowest: 1}, Command: task.Tick{}}
		}
		m.Apply(task.Header{Index: index, Term: 1, Now: 1, LeaseNow: 1}, ps)
	}
	entry(1, n+1)
	m.Freeze()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	entry(2, 1)
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / n; per > 4096 {
		t.Errorf("%d bytes were allocated for each command", per)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}
