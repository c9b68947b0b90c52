package lead

import (
	"context"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// levelStore is a store of a cluster that has a feature level.
type levelStore struct {
	proposals
	machine *task.Machine
}

func (s *levelStore) Local(f func(*task.Machine)) { f(s.machine) }

func (s *levelStore) ProposeLocal(_ context.Context, cmds ...task.Command) ([]task.Result, error) {
	s.batches = append(s.batches, cmds)
	return make([]task.Result, len(cmds)), nil
}

// TestMemoryWaitsForTheLevel: what a worker tells of an attempt's memory reaches the log only when all members know it (SPEC C9, U1).
func TestMemoryWaitsForTheLevel(t *testing.T) {
	for level := task.FirstLevel; level <= task.KnownLevel; level++ {
		s := &levelStore{machine: task.NewMachine()}
		for l := task.FirstLevel; l < level; l++ {
			s.machine.Apply(task.Header{Index: l, Term: 1, Now: 1, LeaseNow: 1}, []task.Proposal{{Command: task.RaiseLevel{Level: l + 1}}})
		}
		pages := int64(0)
		if level >= task.MemoryLevel {
			pages = 4
		}
		refuse := func(err error) { t.Error(err) }
		pump := newReportPump(&term{hub: &Hub{cfg: Config{Store: s}}, ctx: t.Context()}, speaker{}, func(stream.Frame) {}, refuse)
		for _, r := range []stream.Report{{Finish: &task.Finish{Fuel: 3, Pages: 4}}, {Snooze: &task.Snooze{Fuel: 3, Pages: 4}}, {GiveBack: &task.GiveBack{Fuel: 3, Pages: 4}}} {
			pump.add([]stream.Report{r})
			pump.wait()
		}
		want := [][]task.Command{{task.Finish{Fuel: 3, Pages: pages}}, {task.Snooze{Fuel: 3, Pages: pages}}, {task.GiveBack{Fuel: 3, Pages: pages}}}
		if !reflect.DeepEqual(s.batches, want) {
			t.Errorf("at level %d: %v", level, s.batches)
		}
	}
}
