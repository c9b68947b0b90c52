package task_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestListsLookAtSoManyRows: a page that looks at few rows gives what it found and where to go on; all together they are what one
// look at everything gives.
func TestListsLookAtSoManyRows(t *testing.T) {
	r := newRig(t, nil)
	r.must(task.PutNamespace{Name: "rare", Create: true})
	r.must(task.PutBehavior{Namespace: "rare", Name: "echo", Version: "e1", Policy: task.DefaultPolicy()})
	for i := range 60 {
		c := submit(fmt.Sprintf("task-%02d", i))
		if i%11 == 3 {
			c.Namespace = "rare"
		}
		r.must(c)
	}
	rare := task.Filter{Namespace: "rare", Limit: 1 << 30}
	whole, _ := r.m.Tasks(rare)
	if len(whole) != 6 {
		t.Fatalf("%d rare tasks", len(whole))
	}
	for rows := 1; rows <= 61; rows++ {
		for limit := 1; limit <= 3; limit++ {
			f := rare
			f.Rows, f.Limit = rows, limit
			var got []*task.Task
			looks := 0
			for more := true; more; looks++ {
				page, next := r.m.Tasks(f)
				if len(page) > min(rows, limit) {
					t.Fatalf("rows %d, limit %d: a page of %d", rows, limit, len(page))
				}
				got = append(got, page...)
				f.After, more = next, next != 0
			}
			if !slices.EqualFunc(got, whole, func(a, b *task.Task) bool { return a.ID == b.ID }) {
				t.Errorf("rows %d, limit %d: %d tasks, want %d", rows, limit, len(got), len(whole))
			}
			if least := 60/rows - 1; looks < least {
				t.Errorf("rows %d, limit %d: %d looks, at least %d", rows, limit, looks, least)
			}
		}
	}
}
