package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

var purgeTasks = flag.Int("purge", 0, "how many tasks TestPurgeBesideLiveWork purges; default 30,000")

// space makes a namespace with the external behavior "ext" and the named guests.
func (c *Cluster) space(name string, guests ...string) {
	c.t.Helper()
	c.Leader()
	ctx, cancel := c.Context(patience)
	defer cancel()
	n := c.Node(0)
	if _, err := n.CreateNamespace(ctx, api.NamespaceSettings{Name: name}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := n.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: name, Name: "ext", Policy: raw(`{"kind":"external","lease":"1h"}`)}); err != nil {
		c.t.Fatal(err)
	}
	for _, g := range guests {
		wasm, manifest, err := Guest(g)
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := n.Push(ctx, api.PushRequest{Namespace: name, Name: g, Manifest: manifest, Wasm: bytes.NewReader(wasm), Size: -1}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// fill submits n tasks that are due in a day.
func (c *Cluster) fill(name string, n int) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	for made := 0; made < n; {
		rs := make([]api.SubmitRequest, min(api.MaxBatch, n-made))
		for i := range rs {
			rs[i] = api.SubmitRequest{Namespace: name, Behavior: "ext", ID: fmt.Sprintf("fill-%d", made+i), Delay: new(api.Duration(24 * time.Hour))}
		}
		results, err := c.Node(made%len(c.Members)).SubmitBatch(ctx, rs)
		if err != nil || results[len(rs)-1].Error != nil {
			c.t.Fatalf("fill: %v, %+v", err, results)
		}
		made += len(rs)
	}
}

func (c *Cluster) namespaceOf(i int, name string) *api.Namespace {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	n, err := c.Node(i).Namespace(ctx, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// purgeSize returns how many tasks TestPurgeBesideLiveWork purges.
func purgeSize() int {
	switch {
	case *purgeTasks > 0:
		return *purgeTasks
	case testing.Short():
		return 5_000
	}
	return 30_000
}

// TestPurgeBesideLiveWork: a namespace with many tasks goes in batches while another namespace works. Its running tasks
// are killed, and a late report is told to halt (SPEC N1).
func TestPurgeBesideLiveWork(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(maintain.Config{DeleteRate: 20_000, Batch: task.MaxDrop}), func(t *testing.T, c *Cluster) {
		c.space("shop", "wait")
		c.Push(0, "echo")
		c.fill("shop", purgeSize())
		ctx := t.Context()
		for _, q := range []api.SubmitRequest{{Behavior: "wait", ID: "runs", Params: raw(`3600000`)}, {Behavior: "ext", ID: "leased"}} {
			q.Namespace = "shop"
			c.SubmitRequest(0, q)
		}
		r := acceptOf("late", 1, time.Minute)
		r.Namespace = "shop"
		leased := acceptAt(t, c, 1, r)[0]
		c.Executing("runs")

		var over atomic.Bool
		worked := make(chan int)
		go func() { worked <- c.workUntil(&over) }()
		if _, err := c.Node(2).SetNamespaceStatus(ctx, "shop", api.NamespacePurging); err != nil {
			t.Fatal(err)
		}
		c.Eventually("what runs in the namespace is killed", func() bool { return c.Runs.Running("runs") == "" })
		// The external worker hears of it, and gives up only later.
		beat, err := c.Node(0).Heartbeat(ctx, api.HeartbeatRequest{Namespace: "shop", ID: leased.ID, Token: leased.Lease.Token})
		if err != nil || !beat.Cancel {
			t.Errorf("heartbeat of what is being cancelled: %+v, %v", beat, err)
		}
		c.Eventually("the namespace is PURGED", func() bool {
			c.maintainSoon(1)
			return c.namespaceOf(0, "shop").Status == api.NamespacePurged
		})
		if n := c.namespaceOf(1, "shop"); n.Usage != (api.Usage{}) {
			t.Errorf("after the purge it holds %+v", n)
		}
		over.Store(true)
		if n := <-worked; n < 3 {
			t.Errorf("%d tasks of another namespace ran meanwhile", n)
		}
		_, err = c.Node(0).Finish(ctx, api.FinishRequest{Namespace: "shop", ID: leased.ID, Token: leased.Lease.Token})
		if api.CodeOf(err) != api.CodeHalt {
			t.Errorf("a late report: %v, want halt", err)
		}
		c.space("shop") // the name is free again
		if _, err := c.Node(1).Task(ctx, "shop", "fill-1", api.GetOptions{}); api.CodeOf(err) != api.CodeTaskNotFound {
			t.Errorf("a task of the namespace that was: %v", err)
		}
	})
}

// maintainSoon asks for a run at member i, after the one that is under way.
func (c *Cluster) maintainSoon(i int) {
	c.t.Helper()
	ctx, cancel := c.Context(time.Hour)
	defer cancel()
	for {
		started, err := c.Node(i).StartMaintenance(ctx, api.MaintenanceRequest{})
		running, _ := errors.AsType[*api.Error](err)
		switch {
		case err == nil:
			c.runEnded(i, started.Run)
			return
		case running == nil || running.Code != string(task.MaintenanceRunning):
			c.t.Fatalf("start maintenance: %v", err)
		}
		c.runEnded(i, running.Run)
	}
}

// workUntil submits tasks one after the other and waits for each. It returns how many there were.
func (c *Cluster) workUntil(over *atomic.Bool) (n int) {
	for ; !over.Load(); n++ {
		id := c.Submit(n%3, "echo", strconv.Itoa(n))
		began := time.Now()
		if x := c.Final((n+1)%3, id); string(x.Result) != strconv.Itoa(n) {
			c.t.Errorf("task %d: %s", n, Show(x))
		}
		if took := time.Since(began); took > 5*time.Second {
			c.t.Errorf("task %d took %v beside the purge", n, took)
		}
	}
	return n
}

// lines reads an export to its end. It returns each line with the name of its kind.
func (c *Cluster) lines(i int, name string) (all []exportLine, text []byte) {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	r, err := c.Node(i).ExportNamespace(ctx, api.ExportRequest{Name: name})
	if err != nil {
		c.t.Fatalf("export: %v", err)
	}
	defer r.Close()
	return c.readLines(r)
}

func (c *Cluster) readLines(r io.Reader) (all []exportLine, text []byte) {
	c.t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		c.t.Fatalf("read the export: %v", err)
	}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var x exportLine
		if err := json.Unmarshal(line, &x); err != nil {
			c.t.Fatalf("%.200s: %v", line, err)
		}
		all = append(all, x)
	}
	if all[len(all)-1].End == nil {
		c.t.Fatalf("an export without its end: %.200s", text)
	}
	return all, text
}

type exportLine struct {
	Task   *struct{ ID, Status string }
	Record *struct{ Group, Data string }
	End    *struct{ Tasks, Records int }
}

// TestExportIsOneState: two records are changed together. What they say together is true in every export, through every
// node, while they change and leaders come and go (SPEC M5).
func TestExportIsOneState(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.space("bank")
		const client = 1
		ids := c.transfer(client, nil, 0)
		var over atomic.Bool
		done := make(chan int)
		go func() {
			n := 0
			for ; !over.Load(); n++ {
				ids = c.transfer(client, ids, n)
				c.Sleep(time.Millisecond) // without a pause the clock would stand still
			}
			done <- n
		}()
		seen := map[string]bool{}
		for i := range 30 {
			if i == 15 {
				leader := c.Leader()
				c.Kill(leader)
				c.Start(leader)
				c.Leader()
			}
			all, _ := c.lines(i%3, "bank")
			sum, records := 0, 0
			for _, x := range all {
				if x.Record != nil {
					n, _ := strconv.Atoi(x.Record.Data)
					sum, records = sum+n, records+1
					seen[x.Record.Data] = true
				}
			}
			if sum != 0 || records != 2 {
				t.Errorf("export %d: %d records that sum up to %d", i, records, sum)
			}
			c.Sleep(20 * time.Millisecond)
		}
		over.Store(true)
		if n := <-done; n < 10 || len(seen) < 4 {
			t.Errorf("%d transfers, %d values seen: nothing happened meanwhile", n, len(seen))
		}
	})
}

// transfer makes two records, or changes them, so that their sum stays 0. If a node does not answer it goes on through
// another node.
func (c *Cluster) transfer(client int64, ids []uint64, n int) []uint64 {
	r := api.StoreUpdateRequest{Namespace: "bank", ClientID: client}
	plus, minus := strconv.Itoa(n), strconv.Itoa(-n)
	if ids == nil {
		r.Adds = []api.StoreAdd{{Group: "a", Data: plus}, {Group: "b", Data: minus}}
	} else {
		r.Updates = []api.StoreChange{{ID: ids[0], Data: plus}, {ID: ids[1], Data: minus}}
	}
	for try := n; ; try++ {
		node := c.Members[try%3].up()
		if node == nil {
			c.Sleep(step)
			continue
		}
		ctx, cancel := c.Context(time.Minute)
		once := api.WithOnce(ctx, api.Once{Key: uint64(n) + 1, Body: 1})
		reply, err := node.StoreUpdate(once, r)
		cancel()
		if err == nil && reply.Errors == nil {
			return []uint64{reply.Tasks[0].ID, reply.Tasks[1].ID}
		}
		if err == nil {
			c.t.Errorf("transfer %d: %+v", n, reply.Errors)
			return ids
		}
		c.Sleep(step)
	}
}

// TestExportWaitsForNobody: a slow reader holds up nobody and sees nothing that happens meanwhile. Only a limited
// number of exports may run at a time.
func TestExportWaitsForNobody(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		const tasks = 3_000 // the buffers take fewer
		c.space("slow")
		c.fill("slow", tasks)
		ctx := t.Context()
		n := c.Node(1)
		var readers []io.ReadCloser
		for {
			r, err := n.ExportNamespace(ctx, api.ExportRequest{Name: "slow"})
			if api.CodeOf(err) == api.CodeOverloaded {
				break
			}
			if err != nil || len(readers) > 100 {
				t.Fatalf("export %d: %v", len(readers), err)
			}
			readers = append(readers, r)
		}
		c.Push(0, "echo")
		if x := c.Final(1, c.Submit(1, "echo", "1")); x.Status != "SUCCESS" {
			t.Errorf("beside exports that nobody reads: %s", Show(x))
		}
		for i := range 500 {
			if err := n.Remove(ctx, "slow", fmt.Sprintf("fill-%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		all, _ := c.readLines(readers[0])
		if end := all[len(all)-1].End; end.Tasks != tasks {
			t.Errorf("the export has %d tasks, want the %d of its state", end.Tasks, tasks)
		}
		for _, r := range readers {
			_ = r.Close()
			_ = r.Close()
		}
		all, _ = c.lines(1, "slow")
		if end := all[len(all)-1].End; end.Tasks != tasks-500 {
			t.Errorf("a later export has %d tasks, want %d", end.Tasks, tasks-500)
		}
		cut, cancel := context.WithCancelCause(ctx)
		r, err := n.ExportNamespace(cut, api.ExportRequest{Name: "slow"})
		if err != nil {
			t.Fatal(err)
		}
		cause := errors.New("enough")
		cancel(cause)
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, cause) {
			t.Errorf("an export whose caller has gone ends with %v", err)
		}
		_ = r.Close()
	})
}

// TestImportGoesOn: the node of an import dies. The import is done again through another node, and everything is there
// once (SPEC M5).
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.space("from", "echo")
		c.fill("from", 3_000)
		ctx := t.Context()
		adds := make([]api.StoreAdd, 1_500)
		for i := range adds {
			adds[i] = api.StoreAdd{Group: "g", Data: strconv.Itoa(i % 10)} // some are equal
		}
		if _, err := c.Node(0).StoreUpdate(ctx, api.StoreUpdateRequest{Namespace: "from", ClientID: 7, Adds: adds}); err != nil {
			t.Fatal(err)
		}
		want, text := c.lines(0, "from")
		for i, part := range []float64{0.3, 0.95} { // one lies among the tasks, the other among the records
			at := int(part * float64(len(text)))
			body := io.MultiReader(bytes.NewReader(text[:at]), &dying{c: c, i: i})
			_, err := c.Node(i).ImportNamespace(ctx, api.ImportRequest{Name: "target", Body: body})
			if err == nil || c.Members[i].up() != nil {
				t.Fatalf("an import whose node should die ended with %v", err)
			}
			c.Start(i)
			c.Leader()
		}
		got, err := c.Node(2).ImportNamespace(ctx, api.ImportRequest{Name: "target", Body: bytes.NewReader(text)})
		if err != nil || got.Skipped == 0 || got.Tasks+got.Records == 0 {
			t.Fatalf("the last import: %+v, %v", got, err)
		}
		all, copied := c.lines(1, "target")
		if len(all) != len(want) || *all[len(all)-1].End != *want[len(want)-1].End {
			t.Errorf("%d lines with %+v, want %d with %+v", len(all), all[len(all)-1].End, len(want), want[len(want)-1].End)
		}
		if n := strings.Count(string(copied), `"group":"g"`); n != len(adds) {
			t.Errorf("%d records, want %d", n, len(adds))
		}
	})
}

// TestImportOfWhatHasRun: tasks that have ended, and one that ran when it was exported, are imported as they are. The latter runs again there, as its next attempt
// (SPEC M5).
func TestImportOfWhatHasRun(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.space("from")
		ctx, n := t.Context(), c.Node(1)
		accept := func(namespace string) *api.Task {
			reply, err := n.Accept(ctx, api.AcceptRequest{Namespace: namespace, Behavior: "ext", Worker: "w", Wait: new(api.Duration(patience))})
			if err != nil || len(reply.Tasks) != 1 {
				t.Fatalf("accept: %+v, %v", reply, err)
			}
			return reply.Tasks[0]
		}
		finish := func(x *api.Task, e *api.ReportError) {
			r := api.FinishRequest{Namespace: x.Namespace, ID: x.ID, Token: x.Lease.Token, Error: e}
			if _, err := n.Finish(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"done", "failed", "runs"} {
			c.SubmitRequest(0, api.SubmitRequest{Namespace: "from", Behavior: "ext", ID: id})
			x := accept("from")
			switch id {
			case "done":
				finish(x, nil)
			case "failed":
				finish(x, &api.ReportError{Code: "broken", Retryable: new(false)})
			}
		}
		_, text := c.lines(0, "from")
		c.Audit.Imports("target")
		got, err := c.Node(2).ImportNamespace(ctx, api.ImportRequest{Name: "target", Body: bytes.NewReader(text)})
		if err != nil || got.Tasks != 3 {
			t.Fatalf("import: %+v, %v", got, err)
		}
		for id, want := range map[string]string{"done": "SUCCESS", "failed": "FAILURE"} {
			x, err := n.Task(ctx, "target", id, api.GetOptions{})
			if err != nil || x.Status != want || x.Attempt != 1 {
				t.Errorf("%s: %s, %v", id, Show(x), err)
			}
		}
		x := accept("target")
		if x.ID != "runs" || x.Attempt != 2 {
			t.Errorf("accepted %s", Show(x))
		}
		finish(x, nil)
	})
}

// dying kills a member when it is read.
type dying struct {
	c *Cluster
	i int
}

// Read implements io.Reader.
func (d *dying) Read([]byte) (int, error) {
	d.c.Kill(d.i)
	return 0, errors.New("the node is dead")
}
