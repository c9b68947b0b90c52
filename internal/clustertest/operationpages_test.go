package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime"
)

// TestOperationPages: however long results are, a page of op.partitions fits into a response, and no partition is left
// out. A guest that asks for another operation's partitions, or asks nonsense, is told so.
func TestOperationPages(t *testing.T) {
	long := `"` + strings.Repeat("x", 60_000) + `"`
	guest := func(ctx context.Context, j *Job) (string, error) {
		switch {
		case j.Info.Parent == "":
			_, err := j.Host.Call(ctx, abi.OpPartitions, []byte(`{}`))
			if !errors.Is(err, runtime.ErrDenied) {
				return "", fmt.Errorf("an ordinary task asks: %w", err)
			}
			return "", nil
		case j.Info.Behavior != "reduce":
			return long, nil
		}
		for _, nonsense := range []string{``, `[]`, `{"from":-1}`, `{"limit":1e9}`, `{"until":1}`, `{} {}`} {
			if _, err := j.Host.Call(ctx, abi.OpPartitions, []byte(nonsense)); !errors.Is(err, runtime.ErrInvalid) {
				return "", fmt.Errorf("%s: %w", nonsense, err)
			}
		}
		pages, seen, largest := 0, 0, 0
		for from := int64(0); from >= 0; pages++ {
			text, err := j.Host.Call(ctx, abi.OpPartitions, fmt.Appendf(nil, `{"from":%d,"limit":1000}`, from))
			if err != nil {
				return "", err
			}
			var page struct {
				Partitions []struct {
					Index  int64
					Result json.RawMessage
				}
				Next int64
			}
			if err := json.Unmarshal(text, &page); err != nil {
				return "", err
			}
			for _, p := range page.Partitions {
				if p.Index != int64(seen) || string(p.Result) != long {
					return "", fmt.Errorf("partition %d came as %d with %d bytes", seen, p.Index, len(p.Result))
				}
				seen++
			}
			from, largest = page.Next, max(largest, len(text))
		}
		if largest > abi.MaxResponse {
			return "", fmt.Errorf("a page of %d bytes", largest)
		}
		return fmt.Sprintf(`[%d,%d]`, seen, pages), nil
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		c.AddWorker("w1", 8)
		c.WorkersReady(1)
		c.startOperation(0, api.StartOperationRequest{ID: "pages", Behavior: "fan", Partitions: count(40)})
		o := c.operation(1, "pages", "")
		wantOperation(t, o, "", api.OperationCounts{Success: 40})
		if string(o.Result) != `[40,3]` { // 17 results of 60,000 bytes are the most below 1 MiB
			t.Errorf("the completion saw %s, error %+v", o.Result, o.Error)
		}
		if x := c.Final(0, c.Submit(0, "reduce", `{}`)); x.Status != "SUCCESS" {
			t.Errorf("an ordinary task: %s", Show(x))
		}
	})
}

// TestOperationLargeArgument: one argument is shown with many tasks. It makes pages short, and no answer large.
func TestOperationLargeArgument(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		arg := []byte(`"` + strings.Repeat("x", 60_000) + `"`)
		c.startOperation(0, api.StartOperationRequest{ID: "large-arg", Behavior: "many", Partitions: count(100), Arg: arg})
		bounded := func(what string, tasks []*api.Task, least int) {
			t.Helper()
			text, err := json.Marshal(tasks)
			if err != nil || len(text) > 2<<20 || len(tasks) < least {
				t.Errorf("%s: %d tasks in %d bytes, %v", what, len(tasks), len(text), err)
			}
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		page, err := c.Node(1).Partitions(ctx, api.PartitionsRequest{ID: "large-arg", Limit: 1000})
		if err != nil || page.Cursor == "" {
			t.Fatalf("partitions: %v", err)
		}
		bounded("partitions", page.Tasks, 10)
		if all := c.partitionsOf(2, "large-arg"); len(all) != 100 || all[99].ID != "large-arg:99" {
			t.Errorf("listed %d", len(all))
		}
		seen := 0
		for r := (api.ListRequest{Parent: "large-arg", Limit: 1000}); ; {
			list, err := c.Node(1).Tasks(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			bounded("tasks", list.Tasks, 1)
			for _, x := range list.Tasks {
				if want := fmt.Sprintf("large-arg:%d", seen); x.ID != want || len(x.Params) < len(arg) {
					t.Fatalf("%s with %d bytes of params, want %s", x.ID, len(x.Params), want)
				}
				seen++
			}
			if r.Cursor = list.Cursor; r.Cursor == "" {
				break
			}
		}
		if seen != 100 {
			t.Errorf("listed %d", seen)
		}
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("large-arg:%d", i))
		}
		waited, err := c.Node(2).WaitTasks(ctx, api.WaitRequest{IDs: ids, Timeout: new(api.Duration(time.Second))})
		if err != nil || !waited.TimedOut {
			t.Fatalf("wait: %v", err)
		}
		bounded("wait", waited.Tasks, 100)
	})
}
