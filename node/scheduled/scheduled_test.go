package scheduled

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/saving"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// cluster is one replica.
type cluster struct {
	t     *testing.T
	files *blob.Store

	mu    sync.Mutex
	m     *task.Machine
	until func(task.Command) // is told of each command before it is applied
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	files, err := blob.Open(blob.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	c := &cluster{t: t, m: task.NewMachine(), files: files}
	for level := task.FirstLevel; level < task.MembersLevel; level++ {
		c.must(task.RaiseLevel{Level: level + 1})
	}
	c.must(task.OpenSession{Worker: "w", Node: "n1", TTL: 60_000, Slots: 2, Proof: make([]byte, 32)})
	return c
}

// Propose implements Store and saving.State.
func (c *cluster) Propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var rs []task.Result
	for _, cmd := range cmds {
		if c.until != nil {
			c.until(cmd)
		}
		r, _ := c.m.Apply(task.Header{Index: c.m.Index() + 1, Term: 1, Now: 1_700_000_000_000 + task.Time(c.m.Index()), LeaseNow: 1}, []task.Proposal{{Command: cmd}})
		rs = append(rs, r[0])
	}
	return rs, nil
}

func (c *cluster) must(cmd task.Command) task.Result {
	c.t.Helper()
	rs, err := c.Propose(context.Background(), cmd)
	if err != nil || rs[0].Code != task.OK {
		c.t.Fatalf("%T: %+v %v", cmd, rs, err)
	}
	return rs[0]
}

// Read implements Store.
func (c *cluster) Read(_ context.Context, fn func(*task.Machine)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.m)
	return nil
}

// Freeze implements saving.State.
func (c *cluster) Freeze(context.Context) (*task.Frozen, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Freeze(), nil
}

// Open implements saving.Files.
func (c *cluster) Open(ctx context.Context, digest string) (*blob.File, error) {
	return c.files.Open(ctx, digest, nil)
}

// log is the cluster as saving.Log.
type log struct{ *cluster }

func (l log) Propose(ctx context.Context, cmd task.Command) (task.Result, error) {
	rs, err := l.cluster.Propose(ctx, cmd)
	if err != nil {
		return task.Result{}, err
	}
	if rs[0].Code != task.OK {
		return rs[0], errors.New(rs[0].Message)
	}
	return rs[0], nil
}

func (l log) Read(_ context.Context, fn func(*task.Machine) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for fn(l.m) {
	}
	return nil
}

// guest is a node of the cluster with a target.
func (c *cluster) guest(node string, to target.Target, members int) Guest {
	quiet := slog.New(slog.DiscardHandler)
	return Guest{
		Config: Config{Target: to, Every: time.Hour, Keep: 2, Rate: 1 << 30}, Store: c, Node: node, Cluster: func() string { return "c1" },
		Saver: saving.New(saving.Config{
			Log: log{c}, State: c, Files: c, Node: node, Version: "0", Cluster: func() string { return "c1" }, Now: time.Now, Logger: quiet,
		}),
		Members: func() int { return members }, Now: time.Now, Logger: quiet, Failures: new(atomic.Int64),
	}
}

// host is what a worker gives a guest.
type host struct {
	runtime.Host
	signal func(phase string) abi.Signals
}

func (h host) Beat(_, _ int64, note []byte) abi.Signals {
	if h.signal == nil {
		return 0
	}
	return h.signal(string(note))
}

// seed sets the task up as a leader with this guest's configuration would.
func (c *cluster) seed(g Guest) (cmds int) {
	c.t.Helper()
	all, err := Seeds(c.m, g.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, cmd := range all {
		c.must(cmd)
	}
	return len(all)
}

// run gives the task to the guest, and reports what came of it.
func (c *cluster) run(g Guest, h host) runtime.Outcome {
	c.t.Helper()
	session := c.m.Sessions()[0]
	if t := c.m.Task(Key()); t.NotBefore > c.m.Now() {
		c.must(task.Submit{Namespace: task.SystemNamespace, ID: Task, Behavior: Behavior, IfExists: task.Resubmit})
	}
	c.must(task.Assign{Session: session.ID, Key: Key(), Rev: c.m.Task(Key()).Rev})
	t := c.m.Task(Key())
	if t.Lease == nil {
		c.t.Fatalf("not leased: %+v", t)
	}
	token := t.Lease.Token
	info, err := json.Marshal(abi.TaskInfo{Token: token, Attempt: t.Attempt})
	if err != nil {
		c.t.Fatal(err)
	}
	out := g.Run(c.t.Context(), runtime.Attempt{Info: info, RunTimeout: time.Minute}, h)
	f := task.Finish{Key: Key(), Token: token}
	if out.Kind == runtime.Succeeded {
		f.Result = task.Payload{Encoding: task.JSON, Data: out.Result}
	} else {
		f.Error = &task.Error{Code: out.Code, Message: out.Message, Retryable: out.Retryable}
	}
	if out.Kind == runtime.Succeeded || out.Kind == runtime.Failed {
		c.must(f)
	}
	return out
}

// TestRun: a run makes a backup that is whole, remembers it in the state, and ends its hold; the next one stores no blob again (SPEC C8).
func TestRun(t *testing.T) {
	t.Parallel()
	c, dir := newCluster(t), target.Dir(t.TempDir())
	g := c.guest("n1", dir, 3)
	if c.seed(g) != 2 || c.seed(g) != 0 {
		t.Fatal("the task is set up in another way than once")
	}
	digest, err := c.files.Put(t.Context(), []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	c.must(task.NoteBlob{Digest: digest, Size: 7})
	c.must(task.NoteBlob{Digest: digest, Size: 7, Ready: true})
	var phases []string
	for i := range 3 {
		out := c.run(g, host{signal: func(p string) abi.Signals { phases = append(phases, p); return 0 }})
		var last Last
		if err := json.Unmarshal(out.Result, &last); out.Kind != runtime.Succeeded || err != nil {
			t.Fatalf("%+v, %v", out, err)
		}
		r := Recall(c.m, "c1")
		if r == nil || r.Last == nil || *r.Last != last || last.Blobs != 1 || last.New != int64(map[bool]int{true: 1}[i == 0]) || last.Node != "n1" {
			t.Errorf("%d: remembered %+v, %+v", i, r, last)
		}
		if n := len(task.Holds(c.m)); n != 0 {
			t.Errorf("%d holds are left", n)
		}
	}
	for _, want := range []string{"blobs", "state", "verify", "publish", "clean"} {
		if !slices.Contains(phases, want) {
			t.Errorf("phase %s is not told: %v", want, phases)
		}
	}
	s := series.Series{Target: dir, Cluster: "c1"}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%d backups are kept: %v", len(all), err)
	}
	in := s.Open(t.Context(), all[1], nil)
	defer in.Close()
	if v, err := backup.Verify(in, nil); err != nil || v.End.Blobs != 1 || v.Header.Records != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if n := len(slices.Collect(c.m.StoreRecords(task.SystemNamespace, Group, true, 0))); n != 1 {
		t.Errorf("%d records", n)
	}
}

// TestOtherDirectory: a node whose directory is not the one that the others share says so and makes no backup; a cluster of one node needs no
// proof, and neither does a directory that was marked by hand (SPEC C8).
func TestOtherDirectory(t *testing.T) {
	t.Parallel()
	c, here, there := newCluster(t), t.TempDir(), t.TempDir()
	both := filepath.Join(t.TempDir(), "backups")
	link := func(to string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(both), os.Symlink(to, both)); err != nil {
			t.Fatal(err)
		}
	}
	link(here)
	c.seed(c.guest("n1", target.Dir(both), 3))
	if out := c.run(c.guest("n1", target.Dir(both), 3), host{}); out.Kind != runtime.Succeeded {
		t.Fatalf("%+v", out)
	}
	link(there)
	g := c.guest("n2", target.Dir(both), 3)
	for range 2 {
		out := c.run(g, host{})
		if out.Kind != runtime.Failed || !out.Retryable || !strings.Contains(out.Message, "of node n2 must be a directory that all nodes share") || !strings.Contains(out.Message, "by node n1; it has no marker") {
			t.Fatalf("%+v", out)
		}
	}
	if left, err := os.ReadDir(there); err != nil || len(left) > 0 || g.Failures.Load() != 2 {
		t.Errorf("it has left %v, %v, and counted %d failures", left, err, g.Failures.Load())
	}
	marker := Recall(c.m, "c1").Marker
	if err := errors.Join(os.MkdirAll(filepath.Join(there, "taskrt-c1"), 0o700), os.WriteFile(filepath.Join(there, "taskrt-c1", "marker"), []byte(marker+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out := c.run(g, host{}); out.Kind != runtime.Succeeded {
		t.Errorf("marked by hand: %+v", out)
	}
	if err := os.WriteFile(filepath.Join(there, "taskrt-c1", "marker"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := c.run(g, host{}); out.Kind != runtime.Failed || !strings.Contains(out.Message, "its marker is other") {
		t.Errorf("%+v", out)
	}
	if out := c.run(c.guest("n2", target.Dir(both), 1), host{}); out.Kind != runtime.Succeeded || Recall(c.m, "c1").Marker != "other" {
		t.Errorf("alone: %+v", out)
	}
	if out := c.run(c.guest("n3", target.Dir(here), 3), host{}); out.Kind != runtime.Failed || !strings.Contains(out.Message, "give all nodes the same --backup-to") {
		t.Errorf("another name: %+v", out)
	}
}

// TestLostLease: a run whose lease is another's by now publishes nothing, whether or not its worker knows, and a run that is told to stop gives
// the task back.
func TestLostLease(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		signal abi.Signals
		want   runtime.Kind
	}{
		"told": {abi.SignalLeaseLost, runtime.Killed}, "not told": {0, runtime.Killed}, "draining": {abi.SignalDraining, runtime.Yielded}, "cancelled": {abi.SignalCancel, runtime.Cancelled},
	} {
		c, dir := newCluster(t), target.Dir(t.TempDir())
		g := c.guest("n1", dir, 1)
		c.seed(g)
		out := c.run(g, host{signal: func(phase string) abi.Signals {
			if phase != "publish" {
				return 0
			}
			if name == "not told" {
				c.must(task.CloseSession{Session: c.m.Sessions()[0].ID})
			}
			return x.signal
		}})
		if out.Kind != x.want {
			t.Errorf("%s: %+v", name, out)
		}
		all, err := series.Series{Target: dir, Cluster: "c1"}.List(t.Context())
		if err != nil || len(all) != 0 || g.Failures.Load() != 0 || len(task.Holds(c.m)) != 0 {
			t.Errorf("%s: %v, %v, %d failures, holds %v", name, all, err, g.Failures.Load(), task.Holds(c.m))
		}
	}
}

// full is a target without room for records of runs that have ended.
type full struct{ target.Dir }

func (f full) Delete(context.Context, string) error { return io.ErrShortWrite }

// TestNote: a run that could not clean up behind itself has made its backup, and says what was not done.
func TestNote(t *testing.T) {
	t.Parallel()
	c, dir := newCluster(t), target.Dir(t.TempDir())
	g := c.guest("n1", full{dir}, 1)
	c.seed(g)
	if out := c.run(g, host{}); out.Kind != runtime.Succeeded || !strings.Contains(string(out.Result), "were not removed: short write") {
		t.Errorf("%+v: %s", out, out.Result)
	}
}

// TestSeeds: a schedule that is shorter than before holds at once, and a node without a target leaves everything as it is.
func TestSeeds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	g := c.guest("n1", target.Dir(t.TempDir()), 1)
	c.seed(g)
	c.run(g, host{})
	g.Config.Every = time.Minute
	if n := c.seed(g); n != 2 {
		t.Errorf("%d commands", n)
	}
	if at := c.m.Task(Key()).NotBefore; at > c.m.Now()+task.Time(time.Minute.Milliseconds()) {
		t.Errorf("due in %d ms", at-c.m.Now())
	}
	g.Config.Target = nil
	if n := c.seed(g); n != 0 {
		t.Errorf("%d commands without a target", n)
	}
	for _, bad := range []Config{{Every: time.Millisecond, Keep: 1, Rate: 1}, {Every: time.Hour, Rate: 1}, {Every: time.Hour, Keep: 1}} {
		if bad.Target = target.Dir("/x"); bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
