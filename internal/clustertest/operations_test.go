package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// operationsManifest has every kind of operation. "many" has neither a completion nor a cleanup.
const operationsManifest = `{"schema":1,"behaviors":[
	{"name":"fan","operation":{"complete":"reduce","cleanup":"tidy"}},
	{"name":"alone","operation":{"concurrency":"one_per_target","complete":"reduce"}},
	{"name":"all","operation":{"on_failure":"run_all","complete":"reduce","cleanup":"tidy"}},
	{"name":"anew","operation":{"resume":"restart","complete":"reduce"}},
	{"name":"many","operation":{}},
	{"name":"reduce","retry":{"max_attempts":2,"initial_interval":"1s"}},
	{"name":"tidy"}]}`

// pushOperations uploads operationsManifest. If the test has a GoGuest, it says what the guests do.
func (c *Cluster) pushOperations() {
	c.t.Helper()
	wasm, _, err := Guest("echo")
	if err != nil {
		c.t.Fatal(err)
	}
	c.PushWasm(0, "", wasm, []byte(operationsManifest))
}

// startOperation starts an operation through member i.
func (c *Cluster) startOperation(i int, r api.StartOperationRequest) *api.Operation {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	o, err := c.Node(i).StartOperation(ctx, r)
	if err != nil {
		c.t.Fatalf("start %+v through n%d: %v", r, i+1, err)
	}
	return o
}

// operation waits for an operation through member i. With until "" it waits for the end.
func (c *Cluster) operation(i int, id, until string) *api.Operation {
	c.t.Helper()
	ctx, cancel := c.Context(2 * patience)
	defer cancel()
	o, err := c.Node(i).Operation(ctx, "", id, api.OperationGet{Wait: patience, Until: until})
	if err != nil {
		c.t.Fatalf("operation %s from n%d: %v", id, i+1, err)
	}
	if until == "" && !o.Final() {
		c.t.Fatalf("operation %s does not end: %+v", id, o)
	}
	return o
}

// partitionsOf returns the tasks of all partitions that are there.
func (c *Cluster) partitionsOf(i int, id string) (tasks []*api.Task) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	for r := (api.PartitionsRequest{ID: id, Limit: 1000}); ; {
		page, err := c.Node(i).Partitions(ctx, r)
		if err != nil {
			c.t.Fatalf("partitions of %s: %v", id, err)
		}
		tasks = append(tasks, page.Tasks...)
		if r.Cursor = page.Cursor; r.Cursor == "" {
			return tasks
		}
	}
}

func count(n int64) api.Partitions { return api.Partitions{Count: n} }

// wantOperation checks how an operation ended. With code "" it must have succeeded.
func wantOperation(t *testing.T, o *api.Operation, code string, counts api.OperationCounts) {
	t.Helper()
	got := ""
	if o.Error != nil {
		got = o.Error.Code
	}
	if got != code || (o.Status == "SUCCESS") != (code == "") || o.Counts != counts {
		t.Errorf("operation %s is %s with %q, %+v; want %q, %+v", o.ID, o.Status, got, o.Counts, code, counts)
	}
}

// TestOperationStartsOnce: there are fifty starts of an exclusive operation at the same moment, through all nodes. One
// begins, and 49 refusals name it.
func TestOperationStartsOnce(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		for round := range 5 {
			target := fmt.Sprint("target ", round)
			var mu sync.Mutex
			var begun []*api.Operation
			named := map[string]int{}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					ctx, cancel := c.Context(patience)
					defer cancel()
					o, err := c.Node(i%3).StartOperation(ctx, api.StartOperationRequest{Behavior: "alone", Target: target, Partitions: count(100)})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						begun = append(begun, o)
						return
					}
					if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "operation_conflict" || e.Operation == nil || e.Operation.Instance != 1 || !strings.Contains(e.Detail, e.Operation.ID) {
						t.Errorf("refused with %v", err)
					} else {
						named[e.Operation.ID]++
					}
				})
			}
			wg.Wait()
			if len(begun) != 1 || begun[0].Instance != 1 || named[begun[0].ID] != 49 || len(named) != 1 {
				t.Errorf("%d began, refusals name %v", len(begun), named)
			}
			list, err := c.Node(0).Operations(t.Context(), api.OperationsRequest{Target: target})
			if err != nil || len(list.Operations) != 1 {
				t.Errorf("on the target: %+v, %v", list, err)
			}
		}
	})
}

// TestOperationOutcomes: the completion sees every outcome, page by page, and its result is the operation's. A failure
// cancels the rest, or does not.
func TestOperationOutcomes(t *testing.T) {
	guest := func(ctx context.Context, j *Job) (string, error) {
		switch j.Info.Behavior {
		case "reduce":
			statuses, results, err := j.Outcomes(ctx, 3)
			return fmt.Sprintf("%q", fmt.Sprint(statuses, results, j.Params.Success, j.Params.Counts["success"])), err
		case "tidy":
			return "", nil
		}
		switch {
		case strings.HasPrefix(j.Params.Partition, "bad"):
			if err := j.Sleep(ctx, time.Second); err != nil {
				return "", err
			}
			return "", errors.New("bad")
		case strings.HasPrefix(j.Params.Partition, "long"):
			return "", j.Sleep(ctx, time.Hour)
		}
		return `"` + j.Params.Partition + string(j.Params.Arg) + `"`, nil
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		c.AddWorker("w1", 3)
		c.AddWorker("w2", 3)
		c.WorkersReady(2)
		start := func(behavior string, names ...string) *api.Operation {
			t.Helper()
			o := c.startOperation(1, api.StartOperationRequest{Behavior: behavior, Partitions: api.Partitions{Names: names}, Arg: []byte(`1`)})
			return c.operation(2, o.ID, "")
		}
		o := start("fan", "a", "b", "c", "d", "e", "f", "g")
		wantOperation(t, o, "", api.OperationCounts{Success: 7})
		if want := `"map[SUCCESS:7] [0=\"a1\" 1=\"b1\" 2=\"c1\" 3=\"d1\" 4=\"e1\" 5=\"f1\" 6=\"g1\"] true 7"`; string(o.Result) != want {
			t.Errorf("the completion saw %s, want %s", o.Result, want)
		}
		// With fail_fast two run, one fails, and three never began.
		o = start("fan", "a", "bad", "long1", "long2", "long3", "long4", "long5", "long6", "long7")
		wantOperation(t, o, "HANDLER_ERROR", api.OperationCounts{Success: 1, Failure: 8})
		began := 0
		for _, p := range c.partitionsOf(0, o.ID)[2:] {
			if p.Status != "FAILURE" || p.Error.Code != "CANCELLED" {
				t.Errorf("partition %s is %s", p.Partition, Show(p))
			}
			began += int(p.Attempt)
		}
		if began == 0 || began == 7 {
			t.Errorf("%d of 7 had begun when one failed: the test shows nothing", began)
		}
		if r := c.Final(0, o.Completion); !strings.Contains(string(r.Result), "map[FAILURE:8 SUCCESS:1]") {
			t.Errorf("the completion saw %s", r.Result)
		}
		// With run_all the others go on.
		o = start("all", "bad1", "b", "bad2", "d", "e", "f", "g")
		wantOperation(t, o, "HANDLER_ERROR", api.OperationCounts{Success: 5, Failure: 2})
		if !strings.HasPrefix(o.Error.Message, "partition bad") {
			t.Errorf("error %+v", o.Error)
		}
	})
}

// TestOperationParams: GET, lists, events, separate workers and the workers of nodes show the same params. A real
// guest's echo shows the last.
func TestOperationParams(t *testing.T) {
	for _, separate := range []bool{false, true} {
		t.Run(fmt.Sprint("separate ", separate), func(t *testing.T) {
			Run(t, 3, Options{NoWorkers: separate}, func(t *testing.T, c *Cluster) {
				c.pushOperations()
				if separate {
					c.AddWorker("w1", 4)
				}
				ctx, cancel := c.Context(patience)
				defer cancel()
				events, err := c.Node(1).Events(ctx, api.EventsRequest{Parent: "op-params"})
				if err != nil {
					t.Fatal(err)
				}
				defer events.Close()
				arg := `{"sql":"a<b","n":[1,2]}`
				c.startOperation(0, api.StartOperationRequest{
					ID: "op-params", Behavior: "fan", Target: "t", Object: "o", Arg: []byte(arg), Partitions: api.Partitions{Names: []string{"x", "y"}},
				})
				o := c.operation(2, "op-params", "")
				wantOperation(t, o, "", api.OperationCounts{Success: 2})
				want := `{"operation":"op-params","partition":"x","target":"t","object":"o","arg":` + arg + `}`
				got := c.Final(2, "op-params:0")
				if string(got.Params) != want || string(got.Result) != want {
					t.Errorf("params %s, the guest got %s; want %s", got.Params, got.Result, want)
				}
				if listed := c.partitionsOf(1, o.ID)[0]; string(listed.Params) != want {
					t.Errorf("listed with %s", listed.Params)
				}
				e, err := events.Next(ctx)
				if err != nil || !strings.Contains(string(e.Data), `"params":`+want) {
					t.Errorf("told with %s, %v", e.Data, err)
				}
				done := c.Final(0, o.Completion)
				want = `{"operation":"op-params","success":true,"counts":{"waiting":0,"running":0,"retrying":0,"success":2,"failure":0},"target":"t","object":"o","arg":` + arg + `}`
				if string(done.Params) != want || string(o.Result) != want {
					t.Errorf("the completion has %s and got %s; want %s", done.Params, o.Result, want)
				}
			})
		})
	}
}

// TestOperationCancel cancels an operation in every phase (SPEC O3).
func TestOperationCancel(t *testing.T) {
	var g gates
	guest := func(ctx context.Context, j *Job) (string, error) {
		switch {
		case j.Info.Behavior == "reduce":
			return "", g.pass(ctx, j.Params.Operation)
		case j.Info.Behavior == "tidy":
			return "", nil
		case j.Params.Partition == "0" && j.Params.Operation == "partly":
			return "", nil
		}
		return "", j.Sleep(ctx, time.Hour)
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		cancel := func(id string) (*api.Operation, error) {
			ctx, stop := c.Context(patience)
			defer stop()
			return c.Node(1).CancelOperation(ctx, "", id)
		}
		cancelled := func(id string, succeeded, failed int64) {
			t.Helper()
			if _, err := cancel(id); err != nil {
				t.Fatalf("cancel %s: %v", id, err)
			}
			again, err := cancel(id)
			if completing := api.CodeOf(err) == "operation_state"; !completing && (err != nil || again.Status == "SUCCESS") {
				t.Errorf("cancel %s again: %+v, %v", id, again, err)
			}
			if o := c.operation(2, id, "completing"); o.Status == "COMPLETING" {
				if _, err := cancel(id); api.CodeOf(err) != "operation_state" {
					t.Errorf("cancel %s while it completes: %v", id, err)
				}
				g.let(id)
			}
			wantOperation(t, c.operation(2, id, ""), "CANCELLED", api.OperationCounts{Success: succeeded, Failure: failed})
			if again, err := cancel(id); err != nil || again.Status != "FAILURE" {
				t.Errorf("cancel %s, which is: %+v, %v", id, again, err)
			}
		}
		// Its tasks are being made. Most are only made as cancelled tasks.
		c.startOperation(0, api.StartOperationRequest{ID: "made", Behavior: "many", Partitions: count(20_000)})
		cancelled("made", 0, 20_000)
		// Its tasks wait. Then the completion waits too, until there is a worker.
		c.startOperation(0, api.StartOperationRequest{ID: "waiting", Behavior: "many", Partitions: count(10)})
		cancelled("waiting", 0, 10)
		c.AddWorker("w1", 2)
		c.WorkersReady(1)
		// Some of its tasks run.
		c.startOperation(0, api.StartOperationRequest{ID: "running", Behavior: "fan", Partitions: count(6)})
		c.Until(0, "running:0", "running")
		cancelled("running", 0, 6)
		// One of its tasks has succeeded.
		c.startOperation(0, api.StartOperationRequest{ID: "partly", Behavior: "fan", Partitions: count(6)})
		c.Final(0, "partly:0")
		c.Until(0, "partly:1", "running")
		cancelled("partly", 1, 5)
		for _, id := range []string{"made", "waiting", "running", "partly"} {
			if n := c.Audit.Ends(id); n != 1 {
				t.Errorf("%s got %d final states", id, n)
			}
		}
	})
}

// TestOperationCleanup: the worker that ran a partition tidies up after it, and no other worker does.
func TestOperationCleanup(t *testing.T) {
	var mu sync.Mutex
	tidied := map[string][]string{} // worker → the operation and partitions that it tidied up
	ran := map[string]string{}
	guest := func(ctx context.Context, j *Job) (string, error) {
		if j.Info.Behavior == "tidy" {
			mu.Lock()
			defer mu.Unlock()
			tidied[j.Where] = append(tidied[j.Where], j.Params.Operation+" "+j.Params.Partition)
			return "", nil
		}
		if j.Info.Behavior == "reduce" {
			return "", nil
		}
		mu.Lock()
		ran[j.Params.Operation+" "+j.Params.Partition] = j.Where
		mu.Unlock()
		return "", j.Sleep(ctx, time.Hour)
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		c.AddWorker("w1", 2)
		c.AddWorker("w2", 2)
		c.WorkersReady(2)
		c.startOperation(0, api.StartOperationRequest{ID: "cancelled", Behavior: "fan", Partitions: count(4)})
		for i := range 4 {
			c.Executing(fmt.Sprintf("cancelled:%d", i))
		}
		if _, err := c.Node(1).CancelOperation(t.Context(), "", "cancelled"); err != nil {
			t.Fatal(err)
		}
		o := c.operation(2, "cancelled", "")
		if o.Cleanups != (api.OperationCleanups{Made: 4}) {
			t.Errorf("cleanups %+v", o.Cleanups)
		}
		c.Eventually("all is tidied up where it ran", func() bool {
			mu.Lock()
			defer mu.Unlock()
			n := 0
			for name, where := range ran {
				if slices.Contains(tidied[where], name) {
					n++
				}
			}
			return n == 4 && len(tidied["w1"]) == 2 && len(tidied["w2"]) == 2
		})
		// A worker that dies leaves nobody who could tidy up. This is recorded.
		c.startOperation(0, api.StartOperationRequest{ID: "lost", Behavior: "fan", Partitions: count(2)})
		c.Executing("lost:0")
		c.Executing("lost:1")
		dead := c.AddWorker("w3", 2)
		c.startOperation(0, api.StartOperationRequest{ID: "died", Behavior: "fan", Partitions: count(4)})
		for i := range 4 {
			c.Executing(fmt.Sprintf("died:%d", i))
		}
		onDead := 0
		mu.Lock()
		for name, where := range ran {
			if where == "w3" && strings.HasPrefix(name, "died ") {
				onDead++
			}
		}
		mu.Unlock()
		dead.Kill()
		for _, id := range []string{"lost", "died"} { // w1 and w2 become free for w3's tasks
			if id == "died" {
				c.Eventually("w3's partitions run elsewhere", func() bool {
					running := c.operation(0, id, "rev:0").Counts.Running
					return running == 4 && c.operation(0, id, "rev:0").Cleanups.Dropped == int64(onDead)
				})
			}
			if _, err := c.Node(1).CancelOperation(t.Context(), "", id); err != nil {
				t.Fatal(err)
			}
			o = c.operation(2, id, "")
		}
		if onDead == 0 || o.Cleanups != (api.OperationCleanups{Made: 4, Dropped: int64(onDead)}) {
			t.Errorf("%d ran on the worker that died, cleanups %+v", onDead, o.Cleanups)
		}
	})
}

// TestOperationResume: another worker goes on from the last checkpoint, or from scratch (SPEC O5).
func TestOperationResume(t *testing.T) {
	for behavior, want := range map[string]string{"fan": `"half"`, "anew": `""`} {
		t.Run(behavior, func(t *testing.T) {
			guest := func(ctx context.Context, j *Job) (string, error) {
				if j.Info.Behavior == "reduce" {
					return "", nil
				}
				if j.Info.Attempt == 1 {
					if err := j.Host.Checkpoint(ctx, []byte("half")); err != nil {
						return "", err
					}
					return "", j.Sleep(ctx, time.Hour)
				}
				return fmt.Sprintf("%q", j.Checkpoint), nil
			}
			Run(t, 3, Options{NoWorkers: true, Guest: guest, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
				c.pushOperations()
				dead := c.AddWorker("w1", 2)
				c.WorkersReady(1)
				c.startOperation(0, api.StartOperationRequest{ID: "resume", Behavior: behavior, Partitions: count(2)})
				c.Eventually("both have a checkpoint", func() bool {
					return !slices.ContainsFunc(c.partitionsOf(0, "resume"), func(x *api.Task) bool { return x.CheckpointBase64 == nil && x.Checkpoint == nil })
				})
				dead.Kill()
				c.AddWorker("w2", 2)
				wantOperation(t, c.operation(0, "resume", ""), "", api.OperationCounts{Success: 2})
				for _, x := range c.partitionsOf(1, "resume") {
					if string(x.Result) != want || x.Attempt != 2 || x.LostCount > 1 {
						t.Errorf("the second attempt had %s, want %s: %s", x.Result, want, Show(x))
					}
				}
			})
		})
	}
}

// TestOperationRemove: the operation's tasks are halted. Its ID and its target are free when the last task is gone.
// While it is there, no task of it can be removed alone (SPEC O6).
func TestOperationRemove(t *testing.T) {
	guest := func(ctx context.Context, j *Job) (string, error) {
		<-ctx.Done() // the guest does not obey
		return "", ctx.Err()
	}
	Run(t, 3, Options{NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		w := c.AddWorker("w1", 3)
		c.WorkersReady(1)
		r := api.StartOperationRequest{ID: "remove", Behavior: "alone", Target: "t", Partitions: count(5000)}
		c.startOperation(0, r)
		for i := range 3 {
			c.Executing(fmt.Sprintf("remove:%d", i))
		}
		ctx, cancel := c.Context(patience)
		defer cancel()
		for _, id := range []string{"remove:0", "remove:4000"} { // one runs, one waits
			n := c.Node(1)
			_, retry := n.Retry(ctx, api.RetryRequest{ID: id})
			_, resubmit := n.Resubmit(ctx, api.ResubmitRequest{ID: id})
			_, rerun := n.Submit(ctx, api.SubmitRequest{Behavior: "alone", ID: id, IfExists: "rerun"})
			for what, err := range map[string]error{"remove": n.Remove(ctx, "", id), "retry": retry, "resubmit": resubmit, "rerun": rerun} {
				if api.CodeOf(err) != "operation_task" {
					t.Errorf("%s of %s: %v", what, id, err)
				}
			}
		}
		waited := make(chan error, 1)
		go func() {
			_, err := c.Node(2).Operation(ctx, "", "remove", api.OperationGet{Wait: patience})
			waited <- err
		}()
		c.Sleep(time.Second)
		if err := c.Node(1).RemoveOperation(ctx, "", "remove"); err != nil {
			t.Fatal(err)
		}
		if err := <-waited; api.CodeOf(err) != api.CodeRemoved {
			t.Errorf("who waited hears %v", err)
		}
		c.Eventually("its guests are dead", func() bool {
			return c.Runs.Running("remove:0")+c.Runs.Running("remove:1")+c.Runs.Running("remove:2") == ""
		})
		if _, err := c.Node(0).Operation(ctx, "", "remove", api.OperationGet{}); api.CodeOf(err) != "operation_not_found" {
			t.Errorf("it is there: %v", err)
		}
		c.Eventually("ID and target are free", func() bool {
			o, err := c.Node(0).StartOperation(ctx, r)
			return err == nil && o.Instance == 2
		})
		_ = w
	})
}

// TestOperationWaitsForWorkers: an operation without workers waits, and it goes on when a worker returns (SPEC O4).
func TestOperationWaitsForWorkers(t *testing.T) {
	guest := func(ctx context.Context, j *Job) (string, error) { return "", j.Sleep(ctx, 3*time.Second) }
	Run(t, 3, Options{NoWorkers: true, Guest: guest, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.pushOperations()
		workers := []*Worker{c.AddWorker("w1", 2), c.AddWorker("w2", 2)}
		c.WorkersReady(2)
		c.startOperation(0, api.StartOperationRequest{ID: "waits", Behavior: "fan", Partitions: count(10)})
		c.Executing("waits:0")
		for _, w := range workers {
			w.Kill()
		}
		c.Sleep(10 * time.Minute)
		if o := c.operation(1, "waits", "rev:0"); o.Status != "RUNNING" || o.Counts.Failure != 0 || o.Counts.Waiting+o.Counts.Success != 10 {
			t.Errorf("without a worker: %+v", o)
		}
		c.AddWorker("w1", 2)
		wantOperation(t, c.operation(1, "waits", ""), "", api.OperationCounts{Success: 10})
	})
}
