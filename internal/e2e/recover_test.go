package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// acks are tasks that were acknowledged, and the index of the log that each answer named.
type acks struct {
	c    *cluster
	quit chan struct{}
	wg   sync.WaitGroup

	mu sync.Mutex
	at map[string]uint64
}

// submitExternal submits through every node until stop is called. It needs the behavior out.
func submitExternal(c *cluster) *acks {
	a := &acks{c: c, quit: make(chan struct{}), at: map[string]uint64{}}
	for node := range c.nodes {
		a.wg.Go(func() { a.submitThrough(node) })
	}
	return a
}

// more waits until n more tasks were acknowledged.
func (a *acks) more(n int) {
	a.c.t.Helper()
	had := a.count()
	a.c.eventually("tasks are acknowledged", func() bool { return a.count() >= had+n })
}

// stop ends the submitting.
func (a *acks) stop() {
	close(a.quit)
	a.wg.Wait()
}

// submitThrough submits external tasks by a node.
func (a *acks) submitThrough(node int) {
	for n := 0; ; n++ {
		select {
		case <-a.quit:
			return
		default:
		}
		id := fmt.Sprintf("by-%d-%d", node, n)
		resp, err := a.c.http.Post(a.c.urls()[node]+"/v1/tasks", "application/json", strings.NewReader(fmt.Sprintf(`{"behavior":"out","id":%q}`, id)))
		if err != nil {
			continue
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		index, bad := strconv.ParseUint(resp.Header.Get("Taskrt-Index"), 10, 64)
		if err != nil || bad != nil || resp.StatusCode != http.StatusCreated {
			continue // it may have been done: nobody was told
		}
		a.mu.Lock()
		a.at[id] = index
		a.mu.Unlock()
	}
}

func (a *acks) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

// lease is what a program holds of an external task.
type lease struct {
	id    string
	token uint64
}

// accept takes the next task of the behavior held.
func (c *cluster) accept(node int) lease {
	c.t.Helper()
	code, data := c.insist(c.t.Context(), node, http.MethodPost, "/v1/behaviors/held/accept", map[string]any{"worker": "w", "wait": "20s", "lease": "1h"})
	var got struct {
		Tasks []struct {
			ID    string
			Lease struct{ Token uint64 }
		}
	}
	if err := json.Unmarshal(data, &got); err != nil || code != http.StatusOK || len(got.Tasks) != 1 {
		c.t.Fatalf("accept: %d %s %v", code, data, err)
	}
	return lease{got.Tasks[0].ID, got.Tasks[0].Lease.Token}
}

// recover runs the command on a node's directory.
func (c *cluster) recover(p *process, args ...string) (s struct {
	Node, Cluster, Founded string
	Index                  uint64
}) {
	c.t.Helper()
	out, err := leash.Command(binary, append([]string{"cluster", "recover", "--output", "json", "--dir", filepath.Join(p.dir, "data")}, args...)...).CombinedOutput()
	if err := errors.Join(err, json.Unmarshal(out, &s)); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return s
}

// TestRecoverFromEachSurvivor: the three nodes are killed under load, one of them earlier than the others. Each is recovered as if it alone had
// survived. What it says may be lost is what was lost: of the acknowledged tasks it has those up to its last entry, and no others. Tokens that
// the former cluster gave, also after that entry, are of no lease; and the clusters that lie at the same addresses leave each other alone (SPEC C2).
func TestRecoverFromEachSurvivor(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.push("wordcount")
	for _, behavior := range []string{"out", "held"} {
		if code, data := c.insist(t.Context(), 0, http.MethodPut, "/v1/behaviors/"+behavior, json.RawMessage(`{"kind":"external"}`)); code/100 != 2 {
			t.Fatalf("%d %s", code, data)
		}
	}
	c.submit(0, map[string]any{"behavior": "held", "id": "held-1"})
	before := c.accept(0)
	acked := submitExternal(c)
	acked.more(50)
	early := (c.leader() + 1) % 3
	c.nodes[early].kill9()
	acked.more(50)
	on := (early + 1) % 3
	c.submit(on, map[string]any{"behavior": "held", "id": "held-2"})
	after := c.accept(on)
	acked.more(10)
	for i, p := range c.nodes {
		if i != early {
			p.kill9()
		}
	}
	acked.stop()

	clusters := map[string]bool{}
	for i, p := range c.nodes {
		had := c.recover(p)
		if had.Node != p.id || had.Founded != "" || had.Index == 0 {
			t.Fatalf("%s: %+v", p.id, had)
		}
		other := leash.Command(binary, "cluster", "recover", "--dir", filepath.Join(p.dir, "data"), "--cluster", "another")
		if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing was changed") {
			t.Errorf("another cluster's ID: %v %s", err, out)
		}
		clusters[c.recover(p, "--cluster", had.Cluster).Founded] = true
		p.start()
		c.eventually(p.id+" leads a cluster of its own", func() bool {
			code, _ := c.do(t.Context(), i, http.MethodGet, "/readyz", nil)
			return code == http.StatusOK
		})
		lost := 0
		for id, index := range acked.at {
			code, data := c.insist(t.Context(), i, http.MethodGet, "/v1/tasks/"+id, nil)
			if want := index <= had.Index; want != (code == http.StatusOK) || !want && code != http.StatusNotFound {
				t.Errorf("%s goes up to entry %d, and of what was acknowledged at %d it says %d %s", p.id, had.Index, index, code, data)
			} else if !want {
				lost++
			}
		}
		if (lost > 0) != (i == early) {
			t.Errorf("%s, which was killed early: %v, has lost %d of %d", p.id, i == early, lost, len(acked.at))
		}

		// Who held a lease is halted, also if the lease is not known here.
		c.submit(i, map[string]any{"behavior": "held", "id": "held-1"})
		c.submit(i, map[string]any{"behavior": "held", "id": "held-2"})
		for _, l := range []lease{before, after} {
			if code, data := c.insist(t.Context(), i, http.MethodPost, "/v1/tasks/"+l.id+"/finish", map[string]any{"token": l.token, "result": "mine"}); code != http.StatusConflict || !strings.Contains(string(data), "halt") {
				t.Errorf("%s: a worker of the former cluster, token %d: %d %s", p.id, l.token, code, data)
			}
		}
		for range 2 {
			l := c.accept(i)
			if l.token <= after.token {
				t.Errorf("%s gives token %d again", p.id, l.token)
			}
			if code, data := c.insist(t.Context(), i, http.MethodPost, "/v1/tasks/"+l.id+"/finish", map[string]any{"token": l.token, "result": "whole"}); code != http.StatusOK {
				t.Errorf("%s: %d %s", p.id, code, data)
			}
		}
		if code, data := c.insist(t.Context(), i, http.MethodPost, "/v1/tasks?wait=1m", map[string]any{"behavior": "wordcount", "id": "runs-on-" + p.id, "params": map[string]any{"text": "a"}}); code != http.StatusCreated || !strings.Contains(string(data), `"SUCCESS"`) {
			t.Errorf("%s runs nothing: %d %s", p.id, code, data)
		}
	}
	if len(clusters) != 3 {
		t.Errorf("the clusters are called %v", clusters)
	}
	for i, p := range c.nodes { // also after they have met
		if code, data := c.insist(t.Context(), i, http.MethodGet, "/v1/cluster/members", nil); code != http.StatusOK || strings.Count(string(data), `"id"`) != 1 {
			t.Errorf("%s: %d %s", p.id, code, data)
		}
	}
}

// TestCopiesBesideTheirOriginals: copies of the directories of a node and of a worker are started while the originals run. The node's copy does not
// start, and nobody looks for the node at another address; the worker's copy ends no session (SPEC C7, L6).
func TestCopiesBesideTheirOriginals(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	c.push("wait")
	w := c.addWorker("w", 1)
	c.submit(0, map[string]any{"behavior": "wait", "id": "held-long", "params": map[string]any{"ms": 8000}})
	c.eventually("it runs", func() bool { return c.get("held-long", "").Status == "RUNNING" })
	copyOf := func(p *process, flags ...string) *process {
		q := &process{t: t, id: p.id, dir: t.TempDir()}
		if err := os.CopyFS(filepath.Join(q.dir, "data"), os.DirFS(filepath.Join(p.dir, "data"))); err != nil {
			t.Fatal(err)
		}
		q.args = slices.Clone(p.args)
		flags = append(flags, "--dir", filepath.Join(q.dir, "data"))
		for i := 0; i < len(flags); i += 2 {
			q.args[slices.Index(q.args, flags[i])+1] = flags[i+1]
		}
		if i := slices.Index(q.args, "--http"); i >= 0 {
			q.http = q.args[i+1]
		}
		q.start()
		t.Cleanup(func() {
			if q.running() {
				q.kill9()
			}
		})
		return q
	}
	copyOf(w)
	node := copyOf(c.nodes[2], "--http", freeAddr(t), "--raft", freeAddr(t))
	c.eventually("the node's copy ends", func() bool { return !node.running() })
	if code := node.cmd.ProcessState.ExitCode(); code != 7 || !strings.Contains(node.log(), "was copied, or restored from a backup") || !strings.Contains(node.log(), "--as-new-disk") {
		t.Errorf("it ends with code %d and says:\n%s", code, node.log())
	}
	c.eventually("the worker's copy is refused", func() bool {
		return slices.ContainsFunc(c.nodes, func(p *process) bool { return strings.Contains(p.log(), "worker_in_use") })
	})
	if got := c.final("held-long"); got.Status != "SUCCESS" || got.Attempt != 1 {
		t.Errorf("the task of the worker whose directory was copied: %+v", got)
	}
	c.waitReady()
	c.digestsAgree()

	// An operator who calls that copy the node's own is wrong: the node has gone on since, and the others know it.
	c.nodes[2].terminate()
	moved := func(p *process) {
		t.Helper()
		out, err := leash.Command(binary, "cluster", "moved", "--dir", filepath.Join(p.dir, "data")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "the node's own now") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	moved(node)
	node.start()
	c.eventually("the copy is the node's past", func() bool { return !node.running() })
	if code := node.cmd.ProcessState.ExitCode(); code != 8 || !strings.Contains(node.log(), "is an older state of its node") { // no supervisor starts it again (SPEC C10)
		t.Errorf("it ends with code %d and says:\n%s", code, node.log())
	}

	// The node has another disk now: it was stopped, and then copied.
	again := copyOf(c.nodes[2], "--http", freeAddr(t), "--raft", freeAddr(t))
	c.eventually("a copy does not start by itself", func() bool { return !again.running() })
	moved(again)
	c.nodes[2] = again
	again.start()
	c.waitReady()
	c.digestsAgree()
}
