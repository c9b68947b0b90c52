package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/task"
)

// world is what a run sees of a cluster: one replica, and the disks of several members. The test moves its clock by
// hand.
type world struct {
	t     *testing.T
	m     *task.Machine
	index uint64
	now   task.Time

	session uint64
	members []string
	blobs   map[string]map[string]task.Time // member → digest → time of writing
	logs    map[string]map[string]task.Time // member → logs.Name → time of the last writing
	strange []File                          // they lie among the files of the first member
	down    string                          // this member does not answer
	broken  string                          // this member's disk cannot be read

	meddle  func()                   // runs before each look and each command of the run
	refuse  func(task.Command) error // runs instead of a command of the run
	carried []task.Command           // the run's commands that were carried out
}

const (
	second = task.Time(1000)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

func newWorld(t *testing.T, o ...task.Option) *world {
	t.Helper()
	w := &world{
		t: t, m: task.NewMachine(o...), now: 1000 * day, members: []string{"n1", "n2", "n3"},
		blobs: map[string]map[string]task.Time{}, logs: map[string]map[string]task.Time{},
	}
	for _, member := range w.members {
		w.blobs[member], w.logs[member] = map[string]task.Time{}, map[string]task.Time{}
	}
	w.session = w.must(task.OpenSession{Worker: "n1", Node: "n1", Slots: 1000, TTL: 1 << 40, Proof: []byte("x")}).Session.ID
	p := task.DefaultPolicy()
	p.RepeatEvery, p.RepeatAny = 3600_000, true
	w.must(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "v"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: p}},
	})
	w.must(task.Submit{Namespace: task.SystemNamespace, ID: task.MaintenanceTask, Behavior: task.MaintenanceBehavior, NotBefore: task.MaxTime})
	return w
}

func (w *world) apply(c task.Command) task.Result {
	w.index++
	rs, events := w.m.Apply(task.Header{Index: w.index, Term: 1, Now: w.now, LeaseNow: 1}, []task.Proposal{{Command: c}})
	for _, e := range events {
		if e.Kind != task.BlobsDropped {
			continue
		}
		for _, member := range w.members { // like a member: after the commit, unless the blob has come again
			for _, d := range e.Digests {
				if w.m.Blob(d) == nil && w.m.Module(d) == nil {
					delete(w.blobs[member], d)
				}
			}
		}
	}
	return rs[0]
}

func (w *world) must(c task.Command) task.Result {
	w.t.Helper()
	r := w.apply(c)
	if r.Code != task.OK {
		w.t.Fatalf("%T: %s %s", c, r.Code, r.Message)
	}
	return r
}

// Local implements Cluster.
func (w *world) Local(fn func(*task.Machine)) {
	w.others()
	fn(w.m)
}

func (w *world) others() {
	if w.meddle != nil {
		w.meddle()
	}
}

// CatchUp implements Cluster.
func (w *world) CatchUp(ctx context.Context) error { return ctx.Err() }

// Propose implements Cluster.
func (w *world) Propose(ctx context.Context, c task.Command) (task.Result, error) {
	if ctx.Err() != nil {
		return task.Result{}, context.Cause(ctx)
	}
	w.others()
	if w.refuse != nil {
		if err := w.refuse(c); err != nil {
			return task.Result{}, err
		}
	}
	r := w.apply(c)
	if r.Code == task.OK {
		w.carried = append(w.carried, c)
	}
	return r, nil
}

// deletions counts the commands by which runs deleted, or tried to.
func (w *world) deletions() (n int) {
	for _, c := range w.carried {
		if _, ok := c.(task.RecordRun); !ok {
			n++
		}
	}
	return n
}

// Members implements Disks.
func (w *world) Members() []string { return w.members }

var (
	errDown       = fmt.Errorf("%w: it is down", ErrUnreachable)
	errUnreadable = errors.New("permission denied")
)

// Files implements Disks.
func (w *world) Files(_ context.Context, member string, what Area, after string, limit int) ([]File, error) {
	w.others()
	if member == w.down {
		return nil, errDown
	}
	if member == w.broken {
		return nil, errUnreadable
	}
	from := w.blobs[member]
	if what == LogFiles {
		from = w.logs[member]
	}
	var fs []File
	for name, at := range from {
		fs = append(fs, File{Name: name, Modified: at})
	}
	if what == BlobFiles && member == w.members[0] {
		fs = append(fs, w.strange...)
	}
	slices.SortFunc(fs, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	i, _ := slices.BinarySearchFunc(fs, after+"\x00", func(f File, s string) int { return strings.Compare(f.Name, s) })
	return fs[i:min(len(fs), i+limit)], nil
}

// DropLogs implements Disks.
func (w *world) DropLogs(_ context.Context, member string, token uint64, before task.Time, names []string) (n int64, err error) {
	w.others()
	if member == w.broken {
		return 0, errUnreadable
	}
	if x := w.m.Task(task.MaintenanceKey()); x.Lease == nil || x.Lease.Token != token {
		return 0, ErrHalt
	}
	for _, name := range names {
		if at, ok := w.logs[member][name]; ok && at < before {
			delete(w.logs[member], name)
			n++
		}
	}
	return n, nil
}

// behavior makes an external behavior with a policy.
func (w *world) behavior(namespace, name string, change func(*task.Policy)) {
	w.t.Helper()
	p := task.DefaultPolicy()
	p.KeepSuccess, p.KeepFailure = 0, 0
	if change != nil {
		change(&p)
	}
	w.must(task.PutBehavior{Namespace: namespace, Name: name, Version: fmt.Sprint("v", w.index), Policy: p})
}

func (w *world) submit(namespace, id, behavior string, params task.Payload) task.Result {
	return w.apply(task.Submit{Namespace: namespace, ID: id, Behavior: behavior, Params: params, NotBefore: 1})
}

// end runs a task and ends it, with success if ok.
func (w *world) end(namespace, id string, ok bool, result task.Payload) task.Result {
	w.t.Helper()
	t := w.run(namespace, id)
	f := task.Finish{Key: t.Key(), Token: t.Lease.Token, Seq: 1, Result: result, External: true}
	if !ok {
		f.Result, f.Error = task.Payload{}, &task.Error{Code: "bad"}
	}
	return w.apply(f)
}

func (w *world) run(namespace, id string) *task.Task {
	w.t.Helper()
	t := w.m.Task(task.Key{Namespace: namespace, ID: id})
	return w.must(task.Assign{Key: t.Key(), Rev: t.Rev, External: &task.Acceptor{Worker: "w", Lease: 3600_000}}).Task
}

// final makes a task that has just ended.
func (w *world) final(namespace, id, behavior string, ok bool) {
	w.t.Helper()
	if r := w.submit(namespace, id, behavior, task.Payload{}); r.Code != task.OK {
		w.t.Fatalf("%+v", r)
	}
	if r := w.end(namespace, id, ok, task.Payload{}); r.Code != task.OK {
		w.t.Fatalf("%+v", r)
	}
}

func (w *world) has(namespace, id string) bool {
	return w.m.Task(task.Key{Namespace: namespace, ID: id}) != nil
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// put stores a file on all members and notes that it is ready.
func (w *world) put(content string) string {
	w.t.Helper()
	d := digestOf(content)
	w.must(task.NoteBlob{Digest: d, Size: int64(len(content))})
	w.write(d)
	w.must(task.NoteBlob{Digest: d, Size: int64(len(content)), Ready: true})
	return d
}

// write puts a file onto the disks, whatever the log says.
func (w *world) write(digest string) {
	for _, member := range w.members {
		w.blobs[member][digest] = w.now
	}
}

func (w *world) log(member, namespace, id string) {
	w.logs[member][logs.Name(task.Key{Namespace: namespace, ID: id})] = w.now
}

// blobPayload returns a payload that is a blob itself and names other blobs.
func blobPayload(content string, named ...string) task.Payload {
	slices.Sort(named)
	b := &task.Blobs{Content: digestOf(content), Size: int64(len(content)), Named: slices.Compact(named)}
	return task.Payload{Encoding: task.Bytes, Blobs: b}
}

// quick returns a Config that waits for nothing.
func quick() Config {
	return Config{ScanRate: 1 << 40, DeleteRate: 1 << 40, Candidates: 1 << 20, MinItems: 10_000}
}

// begin leases a run.
func (w *world) begin(dry bool) Job {
	w.t.Helper()
	if x := w.m.Task(task.MaintenanceKey()); x.NotBefore > w.now {
		w.must(task.StartMaintenance{Params: task.Payload{Encoding: task.JSON, Data: []byte("{}")}})
	}
	x := w.m.Task(task.MaintenanceKey())
	x = w.must(task.Assign{Key: x.Key(), Rev: x.Rev, Session: w.session}).Task
	return Job{
		Run: x.Attempt, Token: x.Lease.Token, Worker: "n1", DryRun: dry,
		Progress: func(string, int64) error { return nil },
	}
}

// maintain carries out a run and ends its attempt.
func (w *world) maintain(cfg Config, dry bool) Outcome {
	w.t.Helper()
	job := w.begin(dry)
	out, err := New(cfg, w, w, job).Do(w.t.Context())
	if err != nil {
		w.t.Fatalf("the run: %v", err)
	}
	f := task.Finish{Key: task.MaintenanceKey(), Token: job.Token, Seq: 1}
	if !out.Record.Success {
		f.Error = &task.Error{Code: "maintenance_failed"}
	}
	w.must(f)
	w.check()
	return out
}

func (w *world) check() {
	w.t.Helper()
	if err := w.m.Check(); err != nil {
		w.t.Fatal(err)
	}
}

// count returns a line of a record.
func count(r *task.MaintenanceRun, kind, namespace string) task.ObjectCount {
	for _, o := range r.Objects {
		if o.Kind == kind && o.Namespace == namespace {
			return o
		}
	}
	return task.ObjectCount{Kind: kind, Namespace: namespace}
}
