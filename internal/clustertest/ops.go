package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// patience bounds every wait of this package, in virtual time. It is far longer than anything may take.
const patience = 5 * time.Minute

// step is how often a condition is looked at, in virtual time.
const step = 10 * time.Millisecond

// Eventually waits until cond holds, and fails the test if it does not within minutes of virtual time.
func (c *Cluster) Eventually(what string, cond func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !cond(); {
		if time.Now().After(end) {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(step)
	}
}

// Sleep lets virtual time pass.
func (c *Cluster) Sleep(d time.Duration) { time.Sleep(d) }

// Leader waits until the members that are up and not cut off agree on a leader that is up, and returns it. Members in
// except do not count.
func (c *Cluster) Leader(except ...int) int {
	c.t.Helper()
	leader := -1
	c.Eventually("a leader", func() bool {
		leader = c.leader(except)
		return leader >= 0
	})
	return leader
}

// LeaderNode waits for a leader and returns its node. A goroutine uses it instead of Node(Leader()) if another goroutine kills members: each request
// to a node that was killed since is an error.
func (c *Cluster) LeaderNode() *node.Node {
	c.t.Helper()
	var n *node.Node
	c.Eventually("a leader", func() bool {
		if i := c.leader(nil); i >= 0 {
			n = c.Members[i].up()
		}
		return n != nil
	})
	return n
}

func (c *Cluster) leader(except []int) int {
	out := map[int]bool{}
	for _, i := range except {
		out[i] = true
	}
	for i, m := range c.Members {
		n := m.up()
		if n == nil || out[i] {
			continue
		}
		if _, _, leads := n.Store().Stamps(); leads && n.Store().Status().Role == raftstore.RoleLeader {
			return i
		}
	}
	return -1
}

// Followers returns the members that are up and do not lead.
func (c *Cluster) Followers() []int {
	c.t.Helper()
	leader := c.Leader()
	var fs []int
	for _, i := range c.Up() {
		if i != leader {
			fs = append(fs, i)
		}
	}
	return fs
}

// Index returns the member with this ID.
func (c *Cluster) Index(id string) int {
	c.t.Helper()
	for i, m := range c.Members {
		if m.ID == id {
			return i
		}
	}
	c.t.Fatalf("no member %q", id)
	return -1
}

// WorkersReady waits until n sessions are open.
func (c *Cluster) WorkersReady(n int) {
	c.t.Helper()
	c.Eventually(fmt.Sprintf("%d workers", n), func() bool {
		have := 0
		c.Node(c.Leader()).Store().Local(func(m *task.Machine) { have = len(m.Sessions()) })
		return have == n
	})
}

// Guest reads testdata/wasm/NAME.wasm, and the manifest beside it if there is one.
func Guest(name string) (wasm, manifest []byte, err error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return nil, nil, fmt.Errorf("clustertest: no source path")
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..", "testdata", "wasm")
	if wasm, err = os.ReadFile(filepath.Join(dir, name+".wasm")); err != nil {
		return nil, nil, err
	}
	if manifest, err = os.ReadFile(filepath.Join(dir, name+".json")); os.IsNotExist(err) {
		return wasm, nil, nil
	}
	return wasm, manifest, err
}

// Push uploads testdata/wasm/NAME.wasm through member i.
func (c *Cluster) Push(i int, name string) *api.Module {
	c.t.Helper()
	wasm, manifest, err := Guest(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.PushWasm(i, name, wasm, manifest)
}

// PushWasm uploads a module through member i; manifest may be nil.
func (c *Cluster) PushWasm(i int, name string, wasm, manifest []byte) *api.Module {
	c.t.Helper()
	c.Leader()
	ctx, cancel := c.Context(patience)
	defer cancel()
	m, err := c.Node(i).Push(ctx, api.PushRequest{
		Name: name, Manifest: manifest, Wasm: bytes.NewReader(wasm), Size: int64(len(wasm)),
	})
	if err != nil {
		c.t.Fatalf("push %s: %v", name, err)
	}
	return m
}

// Submit submits a task through member i and returns its ID.
func (c *Cluster) Submit(i int, behavior, params string) string {
	c.t.Helper()
	return c.SubmitRequest(i, api.SubmitRequest{Behavior: behavior, Params: json.RawMessage(params)}).Task.ID
}

// SubmitRequest submits through member i.
func (c *Cluster) SubmitRequest(i int, r api.SubmitRequest) *api.SubmitReply {
	c.t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	reply, err := c.Node(i).Submit(ctx, r)
	if err != nil {
		c.t.Fatalf("submit %s through %s: %v", r.Behavior, c.Members[i].ID, err)
	}
	return reply
}

// Final waits through member i until a task is final.
func (c *Cluster) Final(i int, id string) *api.Task {
	c.t.Helper()
	t := c.Wait(i, id, api.GetOptions{Wait: patience})
	if !t.Final {
		c.t.Fatalf("task %s is not final: %s", id, Show(t))
	}
	return t
}

// Until waits through member i for a condition of SPEC W1.
func (c *Cluster) Until(i int, id, until string) *api.Task {
	c.t.Helper()
	return c.Wait(i, id, api.GetOptions{Wait: patience, Until: until})
}

// Wait gets a task through member i.
func (c *Cluster) Wait(i int, id string, o api.GetOptions) *api.Task {
	c.t.Helper()
	ctx, cancel := c.Context(2 * patience)
	defer cancel()
	t, err := c.Node(i).Task(ctx, "", id, o)
	if err != nil {
		c.t.Fatalf("get %s from %s: %v", id, c.Members[i].ID, err)
	}
	return t
}

// Executing waits until a task's guest runs somewhere, and returns where.
func (c *Cluster) Executing(id string) string {
	c.t.Helper()
	c.Eventually("task "+id+" executes", func() bool { return c.Runs.Running(id) != "" })
	return c.Runs.Running(id)
}

// Show prints a task for a failure message.
func Show(t *api.Task) string {
	b, err := json.Marshal(t)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Agree waits until all members that are up have applied the same entries, and compares their states (SPEC C4).
func (c *Cluster) Agree() {
	c.t.Helper()
	var up []*node.Node
	for _, m := range c.Members {
		if n := m.up(); n != nil && m.Fatal() == nil {
			up = append(up, n)
		}
	}
	if len(up) <= len(c.Members)/2 {
		return // without a majority nobody can say what is committed
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	digests := make([]task.Digest, len(up))
	c.Eventually("all members have applied the same", func() bool {
		for i, n := range up {
			if err := n.Store().Read(ctx, func(m *task.Machine) { digests[i] = m.Digest() }); err != nil {
				c.t.Fatalf("read: %v", err)
			}
			if digests[i].Index != digests[0].Index {
				return false
			}
		}
		return true
	})
	for i, n := range up {
		if digests[i] != digests[0] {
			c.t.Errorf("states differ at index %d (SPEC C4): %x and %x", digests[0].Index, digests[0].Sum, digests[i].Sum)
		}
		n.Store().Local(func(m *task.Machine) {
			if err := m.Check(); err != nil {
				c.t.Errorf("the state machine's invariants: %v", err)
			}
		})
	}
}
