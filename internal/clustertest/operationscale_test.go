package clustertest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// cpu returns the time that this process has computed. It is the only clock that runs in a bubble.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var largePartitions = flag.Int64("partitions", 0, "how many partitions the operation of TestLargeOperation has; default 16,000")

// TestLargeOperation: many partitions begin in few entries, and every answer about them is small. The cost of running
// and completing them grows no faster than their number. `make fanout` has a hundred thousand of them.
func TestLargeOperation(t *testing.T) {
	sizes := []int64{4_000, 16_000}
	switch {
	case *largePartitions > 0:
		sizes = []int64{*largePartitions / 4, *largePartitions}
	case testing.Short() || raceDetector:
		sizes = []int64{1_000, 4_000}
	}
	var costs []time.Duration
	for _, n := range sizes {
		began := cpu(t)
		runLarge(t, n)
		costs = append(costs, cpu(t)-began)
	}
	t.Logf("CPU: %v", costs)
	if ratio := float64(costs[1]) / float64(costs[0]); ratio > 9 { // 4 is linear, 16 is n²
		t.Errorf("four times the partitions cost %.1f times as much", ratio)
	}
}

func runLarge(t *testing.T, n int64) {
	guest := func(ctx context.Context, j *Job) (string, error) {
		if j.Info.Behavior == "reduce" {
			statuses, _, err := j.Outcomes(ctx, 1000)
			return fmt.Sprint(statuses["SUCCESS"]), err
		}
		return j.Params.Partition, nil
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		leader := c.Leader()
		index := func() (index uint64, made int64) {
			c.Node(leader).Store().Local(func(m *task.Machine) {
				index = m.Index()
				if o := m.Operation(task.Key{Namespace: task.DefaultNamespace, ID: "large"}); o != nil {
					made = o.Made
				}
			})
			return index, made
		}
		before, _ := index()
		small(t, c.startOperation(1, api.StartOperationRequest{ID: "large", Behavior: "alone", Target: "t", Arg: []byte(`"x"`), Partitions: count(n)}))
		c.Eventually("all tasks are made", func() bool {
			_, made := index()
			return made == n
		})
		after, _ := index()
		if most := uint64(n/2000 + 20); after-before > most {
			t.Errorf("%d partitions began in %d entries, want at most %d", n, after-before, most)
		}
		small(t, c.operation(2, "large", "rev:0"))
		list, err := c.Node(2).Operations(t.Context(), api.OperationsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		small(t, list)
		page, err := c.Node(2).Partitions(t.Context(), api.PartitionsRequest{ID: "large", Limit: 3})
		if err != nil || len(page.Tasks) != 3 || page.Cursor == "" {
			t.Fatalf("a page: %+v, %v", page, err)
		}
		small(t, page)
		if all := c.partitionsOf(1, "large"); int64(len(all)) != n || all[n-1].Partition != fmt.Sprint(n-1) {
			t.Errorf("listed %d", len(all))
		}
		for i := range 4 {
			c.AddWorker(fmt.Sprint("w", i), 256)
		}
		o := c.operation(0, "large", "")
		wantOperation(t, o, "", api.OperationCounts{Success: n})
		if string(o.Result) != fmt.Sprint(n) {
			t.Errorf("the completion counted %s", o.Result)
		}
		small(t, o)
		end, _ := index()
		t.Logf("%d partitions: %d entries to make them, %d to run them", n, after-before, end-after)
		if end-after > uint64(n)/4 {
			t.Errorf("%d entries to run %d partitions", end-after, n)
		}
		if err := c.Node(1).RemoveOperation(t.Context(), "", "large"); err != nil {
			t.Fatal(err)
		}
		c.Eventually("all is gone", func() bool {
			gone := false
			c.Node(leader).Store().Local(func(m *task.Machine) {
				left, _ := m.Tasks(task.Filter{Limit: math.MaxInt})
				gone = !slices.ContainsFunc(left, func(t *task.Task) bool { return t.Parent == "large" })
			})
			return gone
		})
	})
}

// small checks that an answer fits on a screen, whatever the number of partitions.
func small(t *testing.T, answer any) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err != nil || len(text) > 4<<10 {
		t.Errorf("an answer of %d bytes, %v: %.200s", len(text), err, text)
	}
}
