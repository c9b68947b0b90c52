package maintain

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

func (w *world) status(namespace string) task.NamespaceStatus { return w.m.Namespace(namespace).Status }

// ticks lets Ticks do all that is due.
func (w *world) ticks() {
	for range 100 {
		if wall, _ := w.m.NextTick(); wall == 0 || wall > w.now {
			return
		}
		w.must(task.Tick{})
	}
	w.t.Fatal("Ticks do not come to an end")
}

// module activates a behavior of a module.
func (w *world) module(name, digest string, change func(*task.Policy)) {
	w.t.Helper()
	p := task.DefaultPolicy()
	p.KeepSuccess, p.KeepFailure = 0, 0
	if change != nil {
		change(&p)
	}
	w.must(task.Activate{
		Namespace: "default", Module: task.Module{Digest: digest, Size: 1, Version: digest}, Behaviors: []task.Activated{{Name: name, Policy: p}},
	})
	w.write(digest)
}

// work runs a task of a module in the session and ends it.
func (w *world) work(id string) {
	w.t.Helper()
	x := w.m.Task(task.Key{Namespace: "default", ID: id})
	x = w.must(task.Assign{Key: x.Key(), Rev: x.Rev, Session: w.session}).Task
	w.must(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 1})
}

// TestPurge: a namespace in PURGING is emptied in batches. Only a run that found it empty makes it PURGED. The PURGED
// namespace is forgotten after a time (SPEC N1, M2).
func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(task.PutNamespace{Name: "doomed", Create: true})
	w.must(task.PutNamespace{Name: "other", Create: true})
	for _, ns := range []string{"doomed", "other"} {
		w.behavior(ns, "plain", nil)
		for i := range 950 {
			w.submit(ns, fmt.Sprint("task", i), "plain", task.Payload{})
		}
		w.must(task.StoreUpdate{Namespace: ns, Client: 1, Adds: []task.StoreAdd{{Group: "g", Data: "x"}}})
	}
	w.must(task.SetNamespaceStatus{Name: "doomed", Status: task.NamespaceIsPurging})
	dry := w.maintain(quick(), true)
	if got := count(&dry.Record, purgedKind, "doomed"); got.Scanned != 952 || got.Deleted != 952 || w.status("doomed") != task.NamespaceIsPurging {
		t.Errorf("dry: %+v", got)
	}
	w.wantKept("doomed", w.kept("other")...)
	first := w.maintain(quick(), false)
	if got := count(&first.Record, purgedKind, "doomed"); got.Scanned != 952 || got.Deleted != 952 || first.Again != followAt {
		t.Errorf("first: %+v, again %v", got, first.Again)
	}
	if w.status("doomed") != task.NamespaceIsPurging {
		t.Error("the run that saw data says PURGED")
	}
	w.wantKept("doomed")
	batches := 0
	for _, c := range w.carried {
		if p, ok := c.(task.PurgeNamespace); ok {
			if batches++; p.Max != DefaultBatch {
				t.Errorf("%+v", p)
			}
		}
	}
	if batches != 5 {
		t.Errorf("%d batches", batches)
	}
	if second := w.maintain(quick(), false); w.status("doomed") != task.NamespaceIsPurged || second.Again != 0 {
		t.Errorf("second: %v, %+v", w.status("doomed"), second)
	}
	w.now += 29 * day
	if w.maintain(quick(), false); w.m.Namespace("doomed") == nil {
		t.Error("forgotten early")
	}
	w.now += day
	if w.maintain(quick(), false); w.m.Namespace("doomed") != nil {
		t.Error("remembered for too long")
	}
	if len(w.kept("other")) != 950 || w.m.Namespace("other").Usage.Records != 1 {
		t.Error("another namespace lost something")
	}
}

// TestPurgeWaitsForWhatRuns: a run waits a while for tasks that execute, and then another run follows soon. Neither run
// hurries the tasks.
func TestPurgeWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.must(task.PutNamespace{Name: "doomed", Create: true})
		w.behavior("doomed", "plain", func(p *task.Policy) { p.CancelGrace = 50_000 })
		w.submit("doomed", "runs", "plain", task.Payload{})
		x := w.run("doomed", "runs")
		w.must(task.SetNamespaceStatus{Name: "doomed", Status: task.NamespaceIsPurging})
		w.ticks()
		began := time.Now()
		out := w.maintain(quick(), false)
		if took := time.Since(began); out.Again != time.Minute || took < 29*time.Second || took > 32*time.Second || !strings.Contains(out.Record.Message, "1 records of namespace doomed are left") && !strings.Contains(out.Record.Message, "2 records") {
			t.Errorf("after %v: %+v", took, out)
		}
		w.meddle = func() {
			if time.Since(began) > 40*time.Second && w.has("doomed", "runs") && w.m.Task(x.Key()).Lease != nil {
				w.apply(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 1, External: true})
			}
		}
		began = time.Now().Add(-30 * time.Second) // the task ends after 10 s of the next run
		if out := w.maintain(quick(), false); out.Again != followAt || w.has("doomed", "runs") {
			t.Errorf("%+v", out)
		}
		if w.maintain(quick(), false); w.status("doomed") != task.NamespaceIsPurged {
			t.Errorf("%v", w.status("doomed"))
		}
	})
}

// TestPurgedMeanwhile: a namespace is to be purged, but only after the run has looked at namespaces. A run that follows
// at once purges it.
func TestPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(task.PutNamespace{Name: "doomed", Create: true})
	w.behavior("doomed", "plain", nil)
	w.submit("doomed", "x01", "plain", task.Payload{})
	calls := 0
	w.meddle = func() {
		if calls++; calls == 10 {
			w.must(task.SetNamespaceStatus{Name: "doomed", Status: task.NamespaceIsPurging})
		}
	}
	out := w.maintain(quick(), false)
	if calls < 10 || out.Again != followAt {
		t.Errorf("%d calls, %+v", calls, out)
	}
	for range 2 {
		out = w.maintain(quick(), false)
	}
	if w.status("doomed") != task.NamespaceIsPurged || out.Again != 0 {
		t.Errorf("%v, %+v", w.status("doomed"), out)
	}
}

// TestVersionsAndModules: a version that tasks were pinned to goes when no task pins it any more, and its module and
// files go with it. The last five versions stay (SPEC B2, M2, M3).
func TestVersionsAndModules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pinned := digestOf("module 0")
	w.module("mod", pinned, func(p *task.Policy) { p.Retry.MaxAttempts = 2; p.Retry.InitialInterval = 1000 })
	w.submit("default", "pins", "mod", task.Payload{})
	x := w.m.Task(task.Key{Namespace: "default", ID: "pins"})
	x = w.must(task.Assign{Key: x.Key(), Rev: x.Rev, Session: w.session}).Task
	w.must(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 1, Error: &task.Error{Code: "bad", Retryable: true}})
	for i := 1; i <= task.KeptVersions; i++ {
		w.module("mod", digestOf(fmt.Sprint("module ", i)), nil)
	}
	w.now += day
	first := w.maintain(quick(), false)
	if w.m.Module(pinned) == nil || w.m.Version("default", "mod", pinned) == nil {
		t.Fatal("a version that a task is pinned to is gone")
	}
	if got := count(&first.Record, "version", "default"); got.Retained != task.KeptVersions+1 || got.Deleted != 0 {
		t.Errorf("%+v", got)
	}
	w.must(task.Remove{Key: x.Key()})
	w.maintain(quick(), false)
	w.maintain(quick(), false)
	if w.m.Module(pinned) != nil || w.m.Version("default", "mod", pinned) != nil || w.m.Blob(pinned) != nil {
		t.Errorf("module %v, version %v, blob %v", w.m.Module(pinned), w.m.Version("default", "mod", pinned), w.m.Blob(pinned))
	}
	for _, member := range w.members {
		if len(w.blobs[member]) != task.KeptVersions {
			t.Errorf("%s has %d files", member, len(w.blobs[member]))
		}
	}
	if len(w.m.Modules()) != task.KeptVersions {
		t.Errorf("%d modules", len(w.m.Modules()))
	}
}

// TestBehaviorsAreCleared: a behavior was deleted together with its tasks. The tasks go, a running one after its end,
// and then the behavior goes. Another behavior was deleted without its tasks, and they stay (SPEC B8).
func TestBehaviorsAreCleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, b := range []string{"going", "waiting"} {
			w.behavior("default", b, nil)
			w.final("default", b+"-final", b, true)
			for i := range 450 {
				w.must(task.Submit{Namespace: "default", ID: fmt.Sprint(b, i), Behavior: b, NotBefore: task.MaxTime})
			}
		}
		w.submit("default", "runs", "going", task.Payload{})
		x := w.run("default", "runs")
		w.must(task.DeleteBehavior{Namespace: "default", Name: "going", Purge: true})
		w.must(task.DeleteBehavior{Namespace: "default", Name: "waiting"})
		dry := w.maintain(quick(), true)
		wet := w.maintain(quick(), false)
		for _, out := range []Outcome{dry, wet} {
			if got := count(&out.Record, "task", "default"); got.Scanned != 903 || got.Retained != 452 || got.Deleted != 451 {
				t.Errorf("%+v", got)
			}
		}
		if got := w.kept("default"); len(got) != 452 || !w.has("default", "runs") || !strings.Contains(wet.Record.Message, "1 tasks of the deleted behavior going") {
			t.Errorf("%d left, %+v", len(got), wet.Record.Message)
		}
		w.must(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 1, External: true})
		w.maintain(quick(), false)
		if got := w.kept("default"); len(got) != 451 || len(w.m.BehaviorsAfter("", "", 10)) != 2 {
			t.Errorf("%d left, %d behaviors", len(got), len(w.m.BehaviorsAfter("", "", 10)))
		}
	})
}

// TestOperations: an operation goes when it is older than its behavior allows. Its tasks go with it and not before. A
// running operation stays (SPEC O6).
func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.module("fan", digestOf("fan"), func(p *task.Policy) {
		p.KeepSuccess, p.KeepFailure, p.KeepCount = 1000, 1000, 2
		p.Operation = &task.OperationPolicy{}
	})
	w.put("argument")
	for i := range 4 {
		id := fmt.Sprint("op", i)
		w.must(task.StartOperation{Namespace: "default", ID: id, Behavior: "fan", Partitions: 3, Priority: 4, Arg: blobPayload("argument")})
		w.ticks()
		for p := range 3 {
			if i < 3 || p < 2 { // the last operation goes on
				w.work(fmt.Sprint(id, ":", p))
			}
		}
		w.ticks()
		w.now++
	}
	left := func() (ids []string) {
		os, _ := w.m.Operations(task.OperationFilter{Limit: 100})
		for _, o := range os {
			ids = append(ids, o.ID)
		}
		return ids
	}
	counted := func(dry bool, operations, tasks int64) { // these are deleted; all other tasks are kept
		t.Helper()
		all := int64(len(w.kept("default")))
		rec := w.maintain(quick(), dry).Record
		if o, x := count(&rec, "operation", "default"), count(&rec, "task", "default"); o.Deleted != operations || x.Deleted != tasks || x.Scanned != all || x.Retained+x.Newer != all-tasks {
			t.Errorf("of %d tasks: %+v, %+v", all, o, x)
		}
	}
	counted(true, 1, 3)
	counted(false, 1, 3)
	w.ticks()
	if got := left(); len(got) != 3 || got[0] != "op1" || len(w.kept("default")) != 9 {
		t.Errorf("by count: %q, %d tasks", got, len(w.kept("default")))
	}
	w.now += day
	counted(true, 2, 6)
	counted(false, 2, 6)
	w.ticks()
	if got := left(); len(got) != 1 || got[0] != "op3" || len(w.kept("default")) != 3 {
		t.Errorf("by age: %q, %d tasks", got, len(w.kept("default")))
	}
	if w.m.Blob(digestOf("argument")) == nil {
		t.Error("the argument of an operation that runs is gone")
	}
	w.work("op3:2")
	w.ticks()
	w.now += day
	for range 2 {
		w.maintain(quick(), false)
		w.ticks()
	}
	if w.m.Blob(digestOf("argument")) != nil || len(w.kept("default")) != 0 {
		t.Errorf("blob %+v, %q", w.m.Blob(digestOf("argument")), w.kept("default"))
	}
}

// TestBlobs: a blob stays while a task's payload is the blob or names it. A blob that nothing needs goes when it is
// older than the grace. The grace counts from the blob's last put (SPEC M3).
func TestBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behavior("default", "plain", nil)
	for _, content := range []string{"params", "named", "result", "nobody", "put again", "young"} {
		w.put(content)
	}
	if r := w.submit("default", "x01", "plain", blobPayload("params", digestOf("named"))); r.Code != task.OK {
		t.Fatalf("%+v", r)
	}
	w.now += DefaultGraceTime - second
	w.put("put again")
	w.now += 2 * second
	dropped := func(contents ...string) {
		t.Helper()
		w.maintain(quick(), false)
		for _, content := range []string{"params", "named", "result", "nobody", "put again", "young"} {
			want := true
			for _, c := range contents {
				want = want && c != content
			}
			if _, file := w.blobs["n2"][digestOf(content)]; (w.m.Blob(digestOf(content)) != nil) != want || file != want {
				t.Errorf("%s: there %v", content, !want)
			}
		}
	}
	if r := w.end("default", "x01", true, blobPayload("result")); r.Code != task.OK {
		t.Fatalf("%+v", r)
	}
	dropped("nobody", "young")
	w.now += DefaultGraceTime
	dropped("nobody", "young", "put again")
	w.now += 4 * day // the task goes, and with it all that only the task needed
	dropped("nobody", "young", "put again", "params", "named", "result")
}

// TestHeldBlobsStay: while a backup holds blobs, none of them goes, and no file that nobody knows; the run says so. The next run after the hold
// takes them (SPEC C8).
func TestHeldBlobsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for level := task.FirstLevel; level < task.MembersLevel; level++ {
		w.must(task.RaiseLevel{Level: level + 1})
	}
	d := w.put("nobody")
	leftover := digestOf("leftover")
	w.blobs["n2"][leftover] = 1
	w.now += 2 * DefaultGraceTime
	w.must(task.HoldBlobs{ID: "a1", Holder: "snapshot save on n1", TTL: 60_000})
	rec := w.maintain(quick(), false).Record
	if w.m.Blob(d) == nil || w.blobs["n2"][d] == 0 || w.blobs["n2"][leftover] == 0 {
		t.Error("a blob went beside a backup")
	}
	if want := "2 blobs and files stay because of a backup that is being saved: snapshot save on n1 (a1)"; !rec.Success || !strings.Contains(rec.Message, want) {
		t.Errorf("%+v, want %q", rec, want)
	}
	w.must(task.HoldBlobs{ID: "a1"})
	if rec := w.maintain(quick(), false).Record; w.m.Blob(d) != nil || w.blobs["n2"][d] != 0 || w.blobs["n2"][leftover] != 0 || rec.Message != "" {
		t.Errorf("the blobs are still there: %+v", rec)
	}
}

// DefaultGraceTime is DefaultGrace on the log's clock.
const DefaultGraceTime = task.Time(DefaultGrace / time.Millisecond)

// TestLeftovers: files that the log does not know and logs of tasks that are gone are deleted when they are old. The
// files of a member that is down are left to a later run.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behavior("default", "plain", nil)
	w.final("default", "there", "plain", true)
	w.write(digestOf("orphan"))
	for _, member := range w.members {
		w.log(member, "default", "there")
		w.log(member, "default", "gone")
	}
	w.now += 2 * hour
	w.write(digestOf("young"))
	w.log("n1", "default", "young")
	w.now += 2 * hour
	w.down = "n2"
	out := w.maintain(quick(), false)
	if !out.Record.Success || !strings.Contains(out.Record.Message, "n2") {
		t.Errorf("%+v", out.Record)
	}
	if f, l := count(&out.Record, "file", ""), count(&out.Record, "log", ""); f.Deleted != 1 || f.Newer != 2 || l.Deleted != 2 || l.Newer != 1 || l.Retained != 2 {
		t.Errorf("%+v, %+v", f, l)
	}
	for member, logs := range map[string]int{"n1": 2, "n2": 2, "n3": 1} {
		if len(w.blobs[member]) != 1 || len(w.logs[member]) != logs {
			t.Errorf("%s: %d files, %d logs", member, len(w.blobs[member]), len(w.logs[member]))
		}
	}
	w.down = ""
	if w.maintain(quick(), false); len(w.logs["n2"]) != 1 {
		t.Errorf("logs of n2: %v", w.logs["n2"])
	}
}

// TestUnreadableDisk: a member answers with an error. The step fails, and the run ends as a failure that names the
// member. It deletes nothing (SPEC M3).
func TestUnreadableDisk(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"n1", "n3"} { // the run's own member, and another
		w := newWorld(t)
		w.behavior("default", "plain", nil)
		w.final("default", "old", "plain", true)
		w.write(digestOf("orphan"))
		w.now += 30 * day
		w.broken = member
		before := w.deletions()
		out := w.maintain(quick(), false)
		if out.Record.Success || !strings.Contains(out.Record.Message, member+": permission denied") || w.deletions() != before {
			t.Errorf("%s: %d deletions, %+v", member, w.deletions()-before, out.Record)
		}
		w.broken = ""
		if out := w.maintain(quick(), false); !out.Record.Success || count(&out.Record, "task", "default").Deleted != 1 || count(&out.Record, "file", "").Deleted != 1 {
			t.Errorf("%s: once it can be read: %+v", member, out.Record)
		}
	}
}

// TestConfig: only the field that says that it is for tests may lower the floor of the grace.
func TestConfig(t *testing.T) {
	t.Parallel()
	if err := (Config{}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*Config)
		wrong  string
	}{
		"grace":           {func(c *Config) { c.Grace = MinGrace - 1 }, "Grace"},
		"floor":           {func(c *Config) { c.Grace = MinGrace }, ""},
		"grace for tests": {func(c *Config) { c.Grace, c.UnsafeGrace = 1, true }, ""},
		"negative":        {func(c *Config) { c.Grace, c.UnsafeGrace = -1, true }, "Grace"},
		"every":           {func(c *Config) { c.Every = time.Millisecond }, "Every"},
		"on demand":       {func(c *Config) { c.Every = -1 }, ""},
		"scan":            {func(c *Config) { c.ScanRate = -1 }, "ScanRate"},
		"batch":           {func(c *Config) { c.Batch = task.MaxDrop + 1 }, "Batch"},
	} {
		cfg := Config{}.WithDefaults()
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCounts: a record has room for a limited number of lines. The namespaces with the fewest objects share a line.
func TestCounts(t *testing.T) {
	t.Parallel()
	c := counts{}
	for i := range int64(3000) {
		c.of("task", fmt.Sprintf("ns%04d", i)).Scanned = i
		c.of("blob", fmt.Sprintf("ns%04d", i)).Deleted = 1
	}
	lines := c.list()
	var scanned, deleted int64
	for _, line := range lines {
		scanned += line.Scanned
		deleted += line.Deleted
	}
	if len(lines) > task.MaxObjectCounts || scanned != 2999*3000/2 || deleted != 3000 {
		t.Errorf("%d lines, %d, %d", len(lines), scanned, deleted)
	}
	rec := task.MaintenanceRun{Objects: lines}
	if last := count(&rec, "task", "ns2999"); last.Scanned != 2999 {
		t.Errorf("%+v", last)
	}
	if rest := count(&rec, "task", otherNamespaces); rest.Scanned == 0 {
		t.Errorf("%+v", rest)
	}
}
