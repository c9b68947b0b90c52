package clustertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// maintained configures maintenance of all members.
func maintained(m maintain.Config) Options {
	return Options{Configure: func(_ int, n *node.Config) { n.Maintenance = m }}
}

// eager runs only on demand and takes everything for old.
var eager = maintain.Config{Every: -1, Grace: time.Millisecond, UnsafeGrace: true}

// startRun asks for a run at member i.
func (c *Cluster) startRun(i int, r api.MaintenanceRequest) int64 {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	started, err := c.Node(i).StartMaintenance(ctx, r)
	if err != nil {
		c.t.Fatalf("start maintenance: %v", err)
	}
	return started.Run
}

// maintain asks for a run at member i. It returns the run's record after the end.
func (c *Cluster) maintain(i int, r api.MaintenanceRequest) *api.MaintenanceRun {
	c.t.Helper()
	return c.runEnded(i, c.startRun(i, r))
}

// maintenanceRun returns the record of a run.
func (c *Cluster) maintenanceRun(i int, run int64) *api.MaintenanceRun {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	rec, err := c.Node(i).MaintenanceRun(ctx, run)
	if err != nil {
		c.t.Fatal(err)
	}
	return rec
}

// runEnded waits until a run has ended in any way and its task is no longer leased. It returns the run's record.
func (c *Cluster) runEnded(i int, run int64) *api.MaintenanceRun {
	c.t.Helper()
	ctx, cancel := c.Context(time.Hour)
	defer cancel()
	for {
		o := api.GetOptions{Wait: patience, Until: fmt.Sprintf("attempt:%d", run)}
		if _, err := c.Node(i).Task(ctx, task.SystemNamespace, task.MaintenanceTask, o); err != nil {
			c.t.Fatal(err)
		}
		if rec := c.maintenanceRun(i, run); rec.Status != "WAITING" && rec.Status != "RUNNING" {
			return rec
		}
	}
}

// countIn returns a line of a record.
func countIn(r *api.MaintenanceRun, kind, namespace string) (line api.MaintenanceCount) {
	for _, o := range r.Objects {
		if o.Kind == kind && o.Namespace == namespace {
			line = o
		}
	}
	line.Kind, line.Namespace = "", ""
	return line
}

// TestIdleClusterMaintainsOncePerPeriod: a cluster with nothing to do runs maintenance once a period and not more
// often, even over a change of leader.
func TestIdleClusterMaintainsOncePerPeriod(t *testing.T) {
	t.Parallel()
	every := 2 * time.Minute
	o := Options{Configure: func(_ int, n *node.Config) { n.Maintenance.Every = every }}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		c.Sleep(every * 3 / 2)
		leader := c.Leader()
		c.Stop(leader)
		c.Sleep(time.Minute)
		c.Start(leader)
		c.Sleep(every * 17 / 10)
		runs, err := c.Node(0).MaintenanceRuns(t.Context())
		if err != nil || len(runs) != 3 {
			t.Fatalf("%d runs in seven minutes: %+v, %v", len(runs), runs, err)
		}
		for _, r := range runs {
			if r.Status != "SUCCESS" || r.Message != "" {
				t.Errorf("%+v", r)
			}
		}
		b, err := c.Node(0).Behavior(t.Context(), task.SystemNamespace, task.MaintenanceBehavior)
		if err != nil || len(b.Versions) != 1 {
			t.Errorf("each leader made a version of its own: %+v, %v", b, err)
		}
	})
}

// TestMaintenanceSeedsFollowTheConfiguration: a leader with another period sets this period, even for the task that
// waits.
func TestMaintenanceSeedsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	every := 5 * time.Hour
	o := Options{Configure: func(_ int, n *node.Config) { n.Maintenance.Every = every }}
	Run(t, 1, o, func(t *testing.T, c *Cluster) {
		next := func() time.Duration {
			info, err := c.Node(c.Leader()).Maintenance(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if info.NextRun == nil {
				return 0
			}
			return time.Until(info.NextRun.Time).Round(time.Minute)
		}
		c.Leader()
		c.Sleep(time.Second)
		if got := next(); got != 5*time.Hour {
			t.Errorf("the first run begins in %v", got)
		}
		for _, e := range []time.Duration{time.Hour, 2 * time.Hour, -1} { // 2 h and never count only after the run that waits
			every = e
			c.Stop(0)
			c.Start(0)
			c.Leader()
			c.Sleep(time.Second)
			if got := next(); got != time.Hour {
				t.Errorf("every %v: the next run begins in %v", e, got)
			}
		}
		c.Sleep(3 * time.Hour)
		if got := next(); got != 0 || len(c.Runs.Of(task.MaintenanceTask)) != 1 {
			t.Errorf("on demand: the next run begins in %v, %d ran", got, len(c.Runs.Of(task.MaintenanceTask)))
		}
	})
}

// brief pushes echo with a retention of a millisecond, and runs n of its tasks.
func (c *Cluster) brief(n int) {
	c.t.Helper()
	wasm, _, err := Guest("echo")
	if err != nil {
		c.t.Fatal(err)
	}
	c.PushWasm(0, "", wasm, []byte(`{"schema":1,"behaviors":[{"name":"brief","retention":{"success":"1ms"}}]}`))
	for i := range n {
		c.SubmitRequest(0, api.SubmitRequest{ID: fmt.Sprint("task", i), Behavior: "brief"})
	}
	for i := range n {
		c.Final(0, fmt.Sprint("task", i))
	}
	c.Sleep(time.Second)
}

// slow makes a run look at 50 objects a second. With a thousand tasks the run is long enough for something to happen to
// it.
func slow() maintain.Config {
	m := eager
	m.ScanRate = 50
	return m
}

// busyRun starts a run that has to delete a thousand tasks, and returns where it executes.
func (c *Cluster) busyRun() (run int64, where int) {
	c.t.Helper()
	c.brief(1000)
	run = c.startRun(0, api.MaintenanceRequest{})
	c.Eventually("the run executes", func() bool { return c.Executing(task.MaintenanceTask) != "" })
	c.Sleep(3 * time.Second) // the run is in the middle of its marks
	return run, c.Index(c.Executing(task.MaintenanceTask))
}

// TestKilledRunIsTakenOver: the node of a run is killed, and the run is lost. Another node takes it over as the next
// attempt. The two attempts never run at the same time (SPEC M1); Runs checks this.
func TestKilledRunIsTakenOver(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(slow()), func(t *testing.T, c *Cluster) {
		run, where := c.busyRun()
		c.Kill(where)
		rest := c.Leader(where)
		got := c.runEnded(rest, run)
		if got.Status != "LOST" || got.Success {
			t.Errorf("the run whose node was killed: %+v", got)
		}
		next := c.runEnded(rest, run+1)
		if next.Status != "SUCCESS" || countIn(next, "task", "default").Deleted != 1000 || next.Worker == got.Worker {
			t.Errorf("the run that took it over: %+v", next)
		}
		if got = c.maintenanceRun(rest, run); got.SucceededBy != run+1 {
			t.Errorf("%+v", got)
		}
		c.Start(where)
	})
}

// TestMaintenanceOfNodesWithoutWorkers: nodes that run no tasks still run maintenance, and take it over. A task waits
// for a worker (SPEC M1).
func TestMaintenanceOfNodesWithoutWorkers(t *testing.T) {
	t.Parallel()
	o := Options{NoWorkers: true, Configure: func(_ int, n *node.Config) { n.Maintains, n.Maintenance = true, slow() }}
	Run(t, 3, o, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		for i := range 1000 {
			c.SubmitRequest(0, api.SubmitRequest{ID: fmt.Sprint("task", i), Behavior: "echo"})
		}
		run := c.startRun(0, api.MaintenanceRequest{})
		c.Eventually("the run executes", func() bool { return c.Executing(task.MaintenanceTask) != "" })
		where := c.Index(c.Executing(task.MaintenanceTask))
		c.Kill(where)
		rest := c.Leader(where)
		if got := c.runEnded(rest, run); got.Status != "LOST" {
			t.Errorf("the run whose node was killed: %+v", got)
		}
		if next := c.runEnded(rest, run+1); next.Status != "SUCCESS" || countIn(next, "task", "default").Retained != 1000 {
			t.Errorf("the run that took it over: %+v", next)
		}
		c.Start(where)
		if got := c.Until(rest, "task0", "waiting"); got.Status != "CREATED" || got.Attempt != 0 {
			t.Errorf("a task that no worker is there for: %+v", got)
		}
	})
}

// TestStoppedRunIsTakenOver: a clean stop gives the run back.
func TestStoppedRunIsTakenOver(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(slow()), func(t *testing.T, c *Cluster) {
		run, where := c.busyRun()
		c.Stop(where)
		rest := c.Leader(where)
		if got := c.runEnded(rest, run); got.Status != "GIVEN_BACK" && got.Status != "SNOOZED" {
			t.Errorf("%+v", got)
		}
		if next := c.runEnded(rest, run+1); next.Status != "SUCCESS" || countIn(next, "task", "default").Deleted != 1000 {
			t.Errorf("%+v", next)
		}
	})
}

// TestSupersededRunDeletesNothing: while a run goes on, another start is refused, and the refusal names the run. The
// run ends when it is superseded by its number, even if its node is cut off and cannot know (SPEC M1).
func TestSupersededRunDeletesNothing(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut off %v", cut), func(t *testing.T) {
			t.Parallel()
			Run(t, 3, maintained(slow()), func(t *testing.T, c *Cluster) {
				run, where := c.busyRun()
				via := (where + 1) % 3
				if cut {
					c.Net.Isolate(c.Members[where].Addr)
					via = c.Leader(where)
				}
				_, err := c.Node(via).StartMaintenance(t.Context(), api.MaintenanceRequest{DryRun: true})
				if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "maintenance_running" || e.Run != run {
					t.Fatalf("another run: %+v", err)
				}
				if _, err := c.Node(via).StartMaintenance(t.Context(), api.MaintenanceRequest{SupersedeRun: run + 1}); api.CodeOf(err) != "run_not_found" {
					t.Errorf("another number: %v", err)
				}
				c.Runs.superseded(task.MaintenanceTask)
				next := c.startRun(via, api.MaintenanceRequest{DryRun: true, SupersedeRun: run})
				if got := c.maintenanceRun(via, run); got.Status != "SUPERSEDED" || next <= run {
					t.Errorf("%+v, then run %d", got, next)
				}
				got := c.runEnded(via, next)
				if got.Status != "SUCCESS" || !got.DryRun || countIn(got, "task", "default").Deleted != 1000 {
					t.Errorf("%+v", got)
				}
				c.Net.HealAll()
				c.Sleep(time.Minute)
				if reply, err := c.Node(via).Tasks(t.Context(), api.ListRequest{Limit: 1000}); err != nil || len(reply.Tasks) != 1000 {
					t.Errorf("the superseded run deleted something: %d tasks left, %v", len(reply.Tasks), err)
				}
			})
		})
	}
}

// TestCancelledDryRun: a dry run is cancelled before it begins, or in the middle. The next run is no dry run.
func TestCancelledDryRun(t *testing.T) {
	t.Parallel()
	tasks := 1000
	if raceDetector {
		tasks = 500
	}
	m := slow()
	m.Every = time.Hour
	Run(t, 3, maintained(m), func(t *testing.T, c *Cluster) {
		c.brief(3)
		pause := func(on bool) {
			if _, err := c.Node(0).PauseBehavior(t.Context(), task.SystemNamespace, task.MaintenanceBehavior, on); err != nil {
				t.Fatal(err)
			}
		}
		cancel := func() {
			if _, err := c.Node(0).Cancel(t.Context(), task.SystemNamespace, task.MaintenanceTask); err != nil {
				t.Fatal(err)
			}
		}
		pause(true)
		c.startRun(0, api.MaintenanceRequest{DryRun: true})
		cancel()
		pause(false)
		c.brief(tasks)
		if got := c.maintain(0, api.MaintenanceRequest{}); got.DryRun || got.Status != "SUCCESS" || countIn(got, "task", "default").Deleted == 0 {
			t.Errorf("after one that was cancelled before it began: %+v", got)
		}
		c.brief(tasks)
		run := c.startRun(0, api.MaintenanceRequest{DryRun: true})
		c.Eventually("the run executes", func() bool { return c.Executing(task.MaintenanceTask) != "" })
		cancel()
		if got := c.runEnded(0, run); got.Status != "FAILURE" || !got.DryRun {
			t.Errorf("cancelled in the middle: %+v", got)
		}
		if got := c.maintain(0, api.MaintenanceRequest{}); got.DryRun || countIn(got, "task", "default").Deleted != int64(tasks) {
			t.Errorf("after one that was cancelled in the middle: %+v", got)
		}
	})
}

// TestPurgeInCluster: a namespace in PURGING is emptied although nobody asks for a run. Its running tasks end, and the
// run that saw no data makes it PURGED (SPEC N1, M2).
func TestPurgeInCluster(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Leader()
		if _, err := c.Node(0).CreateNamespace(t.Context(), api.NamespaceSettings{Name: "doomed"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Node(0).PutBehavior(t.Context(), api.PutBehaviorRequest{Namespace: "doomed", Name: "ext", Policy: []byte(`{"kind":"external","lease":"1h"}`)}); err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			c.SubmitRequest(i%3, api.SubmitRequest{Namespace: "doomed", ID: fmt.Sprint("task", i), Behavior: "ext"})
		}
		reply, err := c.Node(1).Accept(t.Context(), api.AcceptRequest{Namespace: "doomed", Behavior: "ext", Worker: "w", Max: 3})
		if err != nil || len(reply.Tasks) != 3 {
			t.Fatalf("%+v, %v", reply, err)
		}
		if _, err := c.Node(2).SetNamespaceStatus(t.Context(), "doomed", api.NamespacePurging); err != nil {
			t.Fatal(err)
		}
		c.Eventually("the namespace is PURGED", func() bool {
			n, err := c.Node(2).Namespace(t.Context(), "doomed")
			if err != nil {
				t.Fatal(err)
			}
			return n.Status == api.NamespacePurged
		})
		runs, err := c.Node(0).MaintenanceRuns(t.Context())
		if err != nil || len(runs) < 2 || len(runs) > 5 {
			t.Fatalf("%d runs: %+v, %v", len(runs), runs, err)
		}
		if got := countIn(&runs[0], "purged", "doomed"); got.Scanned != 0 {
			t.Errorf("the last run saw data: %+v", got)
		}
		if got := countIn(&runs[len(runs)-1], "purged", "doomed"); got.Scanned < 500 || got.Deleted < 497 {
			t.Errorf("the first run: %+v", got)
		}
		c.Sleep(30 * time.Minute)
		if later, err := c.Node(0).MaintenanceRuns(t.Context()); err != nil || len(later) > len(runs)+1 {
			t.Errorf("%d runs half an hour later, %v", len(later), err)
		}
	})
}

// TestDisksAreCleared: a file that nobody needs goes from every member's disk, even if a member was down and kept it.
// Files that somebody needs stay, and so do unknown files (SPEC M3).
func TestDisksAreCleared(t *testing.T) {
	t.Parallel()
	Run(t, 3, maintained(eager), func(t *testing.T, c *Cluster) {
		c.brief(0)
		needed, garbage := []byte(text("n", 100_000)), []byte(text("g", 100_000))
		c.putBlob(0, needed)
		c.putBlob(1, garbage)
		c.SubmitRequest(0, api.SubmitRequest{ID: "needs", Behavior: "brief", Params: []byte(refTo(needed)), Delay: new(api.Duration(100 * time.Hour))})
		c.Eventually("all have both", func() bool { return c.copies(needed) == 3 && c.copies(garbage) == 3 })
		old := time.Now().Add(-time.Hour)
		leftover := []byte("leftover")
		plant := func(i int, path string) string {
			path = filepath.Join(c.dir, c.Members[i].ID, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, leftover, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			return path
		}
		d := blob.Digest(leftover)
		orphans := []string{plant(0, "blobs/"+d[:2]+"/"+d), plant(2, "blobs/"+d[:2]+"/"+d)}
		foreign := plant(1, "blobs/"+d[:2]+"/notes.txt")
		name := logs.Name(task.Key{Namespace: "default", ID: "long-gone"})
		c.Stop(2)
		orphans = append(orphans, plant(2, "logs/"+name[:2]+"/"+name+"/7-1"))
		c.Start(2)
		c.Leader()
		c.Sleep(time.Minute)
		got := c.maintain(1, api.MaintenanceRequest{})
		if got.Status != "SUCCESS" || got.Message != "" {
			t.Fatalf("%+v", got)
		}
		c.Eventually("what nobody needs is gone", func() bool { return c.copies(garbage) == 0 && c.copies(leftover) == 0 })
		for _, path := range orphans {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%s is there: %v", path, err)
			}
		}
		if _, err := os.Stat(foreign); err != nil || c.copies(needed) != 3 {
			t.Errorf("%v, %d copies of what is needed", err, c.copies(needed))
		}
		if line := countIn(got, "unknown", ""); line != (api.MaintenanceCount{Scanned: 1, Retained: 1}) {
			t.Errorf("what nobody knows: %+v", line)
		}
	})
}

// TestPayloadsAreSafeFromMaintenance: runs that take everything for old follow each other without a pause. Meanwhile
// clients on all nodes store the same few payloads again and again, use them and remove them. Every node can read a
// payload that a record refers to at any time, however often its file was deleted and put again (SPEC M3).
func TestPayloadsAreSafeFromMaintenance(t *testing.T) {
	t.Parallel()
	m := maintain.Config{Every: time.Second, Grace: time.Millisecond, UnsafeGrace: true, ScanRate: 100, Batch: 2}
	Run(t, 3, maintained(m), func(t *testing.T, c *Cluster) {
		c.Leader()
		policy := []byte(`{"kind":"external"}`)
		if _, err := c.Node(0).PutBehavior(t.Context(), api.PutBehaviorRequest{Name: "ext", Policy: policy}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for client := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(client), 7))
				for round := range 40 {
					content := []byte(text(string(rune('a'+rng.IntN(5))), 70_000))
					id := fmt.Sprintf("client%d-%d", client, round)
					r := api.SubmitRequest{ID: id, Behavior: "ext", Params: content}
					if _, err := c.Node(rng.IntN(3)).Submit(t.Context(), r); err != nil {
						t.Errorf("%s: %v", id, err)
						return
					}
					c.Sleep(time.Duration(rng.Int64N(int64(4 * time.Second))))
					if err := c.readBlob(rng.IntN(3), content); err != nil {
						t.Errorf("%s: its params: %v", id, err)
					}
					if err := c.Node(rng.IntN(3)).Remove(t.Context(), "", id); err != nil {
						t.Errorf("%s: %v", id, err)
					}
					c.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second))))
				}
			})
		}
		wg.Wait()
		runs, err := c.Node(0).MaintenanceRuns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var deleted int64
		for i := range runs {
			deleted += countIn(&runs[i], "blob", "").Deleted
			if s := runs[i].Status; s != "SUCCESS" && s != "RUNNING" {
				t.Errorf("%+v", runs[i])
			}
		}
		if deleted < 5 {
			t.Errorf("%d blobs were deleted by the last %d runs: they prove little", deleted, len(runs))
		}
	})
}
