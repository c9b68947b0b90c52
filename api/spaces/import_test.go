package spaces

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// cluster is a Target of a feature level that keeps the tasks it is given.
type cluster struct {
	Target
	level uint64
	tasks []*task.Task
}

func (c *cluster) Level() uint64 { return c.level }

func (c *cluster) Propose(_ context.Context, p task.Command) (task.Result, error) {
	if needed := task.LevelOf(p); needed > c.level {
		return task.Result{}, api.NewError(api.CodeLevelTooLow, "%T is of level %d", p, needed)
	}
	brought, _ := p.(task.ImportRecords)
	c.tasks = append(c.tasks, brought.Tasks...)
	return task.Result{Count: int64(len(brought.Tasks))}, nil
}

// TestImportOfALaterLevel: what a cluster's feature level does not know of an attempt is left out, and the task is taken up (SPEC C9, U1).
func TestImportOfALaterLevel(t *testing.T) {
	const export = `{"header":{"format":2,"namespace":{"name":"shop","status":"ACTIVE"}}}
{"task":{"id":"one","behavior":"work","status":"CREATED","attempt":2,"created_at":"2020-01-01T00:00:00.000Z","history":[{"number":1,"token":1,"outcome":"LOST"},{"number":2,"token":2,"outcome":"SNOOZED","fuel":5,"pages":3}]}}
{"end":{"tasks":1}}
`
	for level := task.FirstLevel; level <= task.KnownLevel; level++ {
		c := &cluster{level: level}
		got, err := Import(t.Context(), api.ImportRequest{Name: "copy", Body: strings.NewReader(export)}, c)
		if err != nil || got.Tasks != 1 {
			t.Fatalf("at level %d: %+v, %v", level, got, err)
		}
		want := int64(0)
		if level >= task.MemoryLevel {
			want = 3
		}
		if h := c.tasks[0].History; len(h) != 2 || h[1].Fuel != 5 || h[1].Pages != want {
			t.Errorf("at level %d the history is %s", level, fmt.Sprint(h))
		}
	}
}
