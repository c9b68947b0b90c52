package service

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// TestPagesTakeManyLooks: nothing is applied while a filter passes over records, so one look passes over a limited
// number. This changes neither the page nor the pages after it.
func TestPagesTakeManyLooks(t *testing.T) {
	const tasks, each = 3*lookedAt + 5, 5_000
	m := task.NewMachine()
	index := uint64(0)
	apply := func(cmds ...task.Command) {
		index++
		ps := make([]task.Proposal, len(cmds))
		for i, c := range cmds {
			ps[i].Command = c
		}
		rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 1_000, LeaseNow: 1}, ps)
		for _, r := range rs {
			if r.Code != task.OK {
				t.Fatal(r.Code, r.Message)
			}
		}
	}
	apply(task.Activate{Namespace: "default", Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}}})
	rare := map[int]bool{0: true, lookedAt - 1: true, lookedAt: true, 2*lookedAt + 7: true, tasks - 1: true}
	for from := 0; from < tasks; from += each {
		var cmds []task.Command
		for i := from; i < min(from+each, tasks); i++ {
			c := task.Submit{Namespace: "default", ID: fmt.Sprintf("t%05d", i), Behavior: "echo", Priority: 4}
			if rare[i] {
				c.Labels = []task.Label{{Name: "rare", Value: "yes"}}
			}
			cmds = append(cmds, c)
		}
		apply(cmds...)
	}
	for limit := 1; limit <= 6; limit++ {
		var ids []string
		looks, after, pages := 0, uint64(0), 0
		for more := true; more; pages++ {
			p := &taskPage{limit: limit, filter: task.Filter{
				Namespace: "default", Labels: []task.Label{{Name: "rare", Value: "yes"}}, After: after, Rows: lookedAt,
			}, tasks: []*api.Task{}}
			for looks++; p.look(m); looks++ {
				if p.filter.After == 0 {
					t.Fatal("a look began anew")
				}
			}
			for _, x := range p.tasks {
				ids = append(ids, x.ID)
			}
			after, more = p.next, p.next != 0
		}
		if want := fmt.Sprintf("[t00000 t%05d t%05d t%05d t%05d]", lookedAt-1, lookedAt, 2*lookedAt+7, tasks-1); fmt.Sprint(ids) != want {
			t.Errorf("limit %d: %v, want %s", limit, ids, want)
		}
		if least := tasks/lookedAt + 1; looks < least {
			t.Errorf("limit %d: %d looks at %d records, at least %d", limit, looks, tasks, least)
		}
		if most := 5/limit + 2; pages > most { // no page is short for the only reason that a look ended
			t.Errorf("limit %d: %d pages, at most %d", limit, pages, most)
		}
	}
}
