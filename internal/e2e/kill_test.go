package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestKillAllNodes: all three nodes die at once; everything acknowledged survives and ends (SPEC T6).
func TestKillAllNodes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"bolt", "wal"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testKillAllNodes(t, newClusterWith(t, kind, nil))
		})
	}
}

func testKillAllNodes(t *testing.T, c *cluster) {
	c.push("echo")
	acked := submitUntil(c, func(n int64) bool { return n >= 60 }, func() {
		for _, p := range c.nodes {
			p.signal(syscall.SIGKILL)
		}
		for _, p := range c.nodes {
			p.wait()
		}
	})
	for _, p := range c.nodes {
		p.start()
	}
	c.waitReady()
	for _, id := range acked {
		if got := c.final(id); got.Status != "SUCCESS" {
			t.Errorf("task %s: %+v", id, got)
		}
	}
	c.digestsAgree()
}

// submitUntil submits through all nodes from several callers until enough were acknowledged, then calls strike, and
// returns the IDs that were acknowledged.
func submitUntil(c *cluster, enough func(int64) bool, strike func()) []string {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	var count atomic.Int64
	var mu sync.Mutex
	acked := map[string]bool{}
	var wg sync.WaitGroup
	struck := make(chan struct{})
	for caller := range 6 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("s-%d-%d", caller, i)
				code, _ := c.do(ctx, caller%3, "POST", "/v1/tasks", map[string]any{"behavior": "echo", "id": id, "params": map[string]int{"n": i}})
				if code == http.StatusCreated {
					mu.Lock()
					acked[id] = true
					mu.Unlock()
					if enough(count.Add(1)) {
						select {
						case <-struck:
							return
						default:
						}
					}
				}
			}
		})
	}
	c.eventually("enough submits were acknowledged", func() bool { return enough(count.Load()) })
	strike()
	close(struck)
	cancel()
	wg.Wait()
	return slices.Collect(maps.Keys(acked))
}

// TestKillWorkerProcess: the process that runs a task is killed; the task ends elsewhere, once (SPEC L6, R3).
func TestKillWorkerProcess(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "3s")
	c.push("wait")
	c.addWorker("w1", 4)
	c.addWorker("w2", 4)
	c.submit(0, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 8000}})
	victim := c.runningOn("long")
	c.process(victim).kill9()
	lostOnce(t, c.final("long"), victim)
}

// lostOnce checks that a task that ran on the victim first has ended elsewhere, once. A machine that stands still for long may
// have lost attempts of others on the way, with leases as short as these.
func lostOnce(t *testing.T, got task, victim string) {
	t.Helper()
	h := got.History
	if got.Status != "SUCCESS" || len(h) < 2 || h[0].Attempt != 1 || h[0].Worker != victim || h[0].Outcome != "LOST" || h[1].Worker == victim {
		t.Fatalf("%+v", got)
	}
	for _, a := range h[:len(h)-1] {
		if a.Outcome != "LOST" {
			t.Fatalf("history: %+v", h)
		}
	}
}

// TestRestartedWorkerEndsItsFormerSession: a restarted process ends its former session at once (SPEC L6). The TTL is so
// long that nothing else could explain it.
func TestRestartedWorkerEndsItsFormerSession(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "10m")
	c.push("wait")
	w := c.addWorker("w1", 4)
	c.submit(1, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 3000}})
	c.runningOn("long")
	w.kill9()
	w.start()
	if got := c.final("long"); got.Status != "SUCCESS" || got.Attempt != 2 {
		t.Fatalf("%+v", got)
	}
}

// TestWorkerInUse: without the proof, the same worker ID is refused while the session lives (SPEC L6).
func TestWorkerInUse(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "10m")
	c.addWorker("w1", 4)
	twin := &process{t: t, id: "twin", dir: t.TempDir()}
	twin.args = []string{"worker", "--id", "w1", "--dir", twin.dir + "/data", "--server", strings.Join(c.urls(), ",")}
	twin.start()
	c.workers = append(c.workers, twin)
	c.eventually("the twin says that the worker ID is in use", func() bool { return strings.Contains(twin.log(), "another live session has this worker ID") })
}

// TestKillLeader: the leader dies with work under way on itself and on others. Whether the others' runs go on depends on
// how long the election takes compared with 70 % of the TTL, which is short here: they may fence themselves. That a quick
// election costs them nothing is shown in virtual time (internal/clustertest).
func TestKillLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--session-ttl", "3s")
	c.push("wait")
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = fmt.Sprintf("t-%d", i)
		c.submit(i%3, map[string]any{"behavior": "wait", "id": ids[i], "params": map[string]int{"ms": 5000}})
	}
	for _, id := range ids {
		c.runningOn(id)
	}
	leader := c.nodes[c.leader()]
	leader.kill9()
	for _, id := range ids {
		got := c.final(id)
		if got.Status != "SUCCESS" {
			t.Errorf("%s: %+v", id, got)
		}
		for i, h := range got.History {
			if last := i == len(got.History)-1; last != (h.Outcome == "SUCCESS") {
				t.Errorf("%s: history %+v", id, got.History)
			}
		}
	}
	leader.start()
	c.waitReady()
	c.digestsAgree()
}

// TestStoppedWorkerIsFenced: a worker stopped past its session finds, when it goes on, that its guest must die and that
// its report is dead (SPEC L5).
func TestStoppedWorkerIsFenced(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "2s")
	c.push("wait")
	c.addWorker("w1", 4)
	c.addWorker("w2", 4)
	c.submit(2, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 20000}})
	victim := c.process(c.runningOn("long"))
	c.eventually("its guest beats", func() bool { return c.get("long", "").Progress != nil }) // the lease may be there before it
	c.stopped = true
	victim.signal(syscall.SIGSTOP)
	c.eventually("the other worker has the task", func() bool {
		l := c.get("long", "").Lease
		return l != nil && l.Worker != victim.id
	})
	victim.signal(syscall.SIGCONT) // its guest has most of its time before it: only the fence can end it
	c.eventually("the stopped worker stopped its guest itself", func() bool {
		return strings.Contains(victim.log(), "session over") && strings.Contains(victim.log(), "stopped=1")
	})
	got := c.final("long")
	lostOnce(t, got, victim.id)
	c.eventually("the stopped worker has a new session", func() bool { return c.hasWorker(victim.id) })
	after := c.get("long", "")
	if after.Rev != got.Rev || after.Attempt != got.Attempt {
		t.Fatalf("the late worker changed the record:\nbefore %+v\nafter  %+v", got, after)
	}
	// It is of use again. Until the leader has seen the other one die, it may still give that one the task.
	c.process(otherWorker(victim.id)).kill9()
	c.submit(0, map[string]any{"behavior": "wait", "id": "next", "params": map[string]int{"ms": 10}})
	if next := c.final("next"); next.Status != "SUCCESS" || next.History[len(next.History)-1].Worker != victim.id {
		t.Fatalf("%+v", next)
	}
}

func otherWorker(id string) string {
	if id == "w1" {
		return "w2"
	}
	return "w1"
}

// TestCleanStopGivesBack: a clean stop gives runs back at once; the session's TTL is too long to explain it otherwise
// (SPEC R3).
func TestCleanStopGivesBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--session-ttl", "10m")
	c.push("wait")
	c.submit(0, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 20000}})
	victim := c.process(c.runningOn("long"))
	victim.terminate()
	c.eventually("the task runs elsewhere", func() bool {
		got := c.get("long", "")
		return got.Lease != nil && got.Lease.Worker != victim.id
	})
	got := c.get("long", "")
	if got.LostCount != 0 || got.Failures != 0 {
		t.Fatalf("a give-back was counted: %+v", got)
	}
}

// TestEqualSubmits: concurrent equal submits through all nodes create one task and one run (SPEC I4).
func TestEqualSubmits(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.push("wordcount")
	var wg sync.WaitGroup
	var created atomic.Int64
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			code, data := c.do(t.Context(), i%3, "POST", "/v1/tasks", map[string]any{"behavior": "wordcount", "params": map[string]string{"text": "a b a"}})
			var r struct {
				Task    task
				Outcome string
			}
			if err := json.Unmarshal(data, &r); err != nil || code/100 != 2 {
				t.Errorf("submit %d: %d %s", i, code, data)
			}
			if r.Outcome == "created" {
				created.Add(1)
			}
			ids[i] = r.Task.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != "mwx52adtsbsqawfl2qcezxjducfsrvww" {
			t.Fatalf("ID %q, want that of SPEC I2", id)
		}
	}
	got := c.final(ids[0])
	var result struct {
		Words map[string]int
		Total int
	}
	if err := json.Unmarshal(got.Result, &result); err != nil || result.Total != 3 || result.Words["a"] != 2 || result.Words["b"] != 1 {
		t.Fatalf("result %s: %v", got.Result, err)
	}
	if created.Load() != 1 || got.Attempt != 1 {
		t.Fatalf("%d created, attempt %d; want one task and one run", created.Load(), got.Attempt)
	}
}

// TestResentCommandsHaveOneEffect: the leader is killed while requests are in flight through the others, which send them
// again. Each has one effect (SPEC H4): a submit that must not meet an existing task never does, a remove that was
// applied is not answered 404.
func TestResentCommandsHaveOneEffect(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.push("echo")
	leader := c.leader()
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	const n = 120
	for i := range n {
		c.submit(others[i%2], map[string]any{"behavior": "echo", "id": fmt.Sprintf("old-%d", i), "delay": "1h"})
	}
	type answer struct {
		what, id string
		code     int
		body     []byte
	}
	answers := make(chan answer, 3*n)
	var wg sync.WaitGroup
	var done atomic.Int64
	call := func(what, method, path, id string, body any, node int) {
		wg.Go(func() {
			code, data := c.do(t.Context(), node, method, path, body)
			done.Add(1)
			answers <- answer{what, id, code, data}
		})
	}
	for i := range n {
		id := fmt.Sprintf("new-%d", i)
		call("submit", "POST", "/v1/tasks", id, map[string]any{"behavior": "echo", "id": id, "if_exists": "fail", "delay": "1h"}, others[i%2])
		old := fmt.Sprintf("old-%d", i)
		if i%2 == 0 {
			call("cancel", "POST", "/v1/tasks/"+old+"/cancel", old, nil, others[i%2])
		} else {
			call("remove", "DELETE", "/v1/tasks/"+old, old, nil, others[i%2])
		}
		if i == n/2 {
			c.nodes[leader].signal(syscall.SIGKILL)
		}
	}
	wg.Wait()
	close(answers)
	c.nodes[leader].wait()
	unknown := 0
	for a := range answers {
		want := map[string]int{"submit": http.StatusCreated, "cancel": http.StatusOK, "remove": http.StatusNoContent}[a.what]
		switch a.code {
		case want:
		case http.StatusServiceUnavailable:
			unknown++
		default:
			t.Errorf("%s %s: %d %s", a.what, a.id, a.code, a.body)
		}
	}
	if unknown > n {
		t.Errorf("%d of %d requests had no known outcome", unknown, 2*n)
	}
	c.nodes[leader].start()
	c.waitReady()
	c.digestsAgree()
}

// TestCommandLine looks at the command line's exit codes and streams against a real cluster (SPEC section 12).
func TestCommandLine(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.push("flaky", "trap")
	taskrt := func(want int, args ...string) string {
		t.Helper()
		cmd := leash.Command(binary, append(args, "--server", strings.Join(c.urls(), ","))...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("taskrt %s: exit %d (%v), want %d\n%s%s", strings.Join(args, " "), code, err, want, out.String(), errs.String())
		}
		return out.String()
	}
	if got := taskrt(0, "submit", "flaky", "--params", `{"fail":2}`, "--wait"); !strings.Contains(got, `"attempts":3`) {
		t.Errorf("result on stdout: %q", got)
	}
	taskrt(1, "submit", "trap", "--wait", "--id", "boom")
	taskrt(5, "submit", "nobody")
	taskrt(2, "submit", "flaky", "surplus")
	taskrt(2, "submit", "flaky", "--no-such-flag")
	taskrt(4, "submit", "flaky", "--delay", "1h", "--id", "later", "--wait", "--timeout", "200ms")
	taskrt(0, "rm", "later")
	taskrt(5, "get", "later")
	var got struct{ Task task }
	if err := json.Unmarshal([]byte(taskrt(0, "get", "boom", "-o", "json")), &got); err != nil || got.Task.Error == nil || got.Task.Error.Code != "TRAP" {
		t.Errorf("get -o json: %v %+v", err, got)
	}
	cmd := leash.Command(binary, "list", "--server", "http://"+freeAddr(t))
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("no cluster there: exit %d, want 3", code)
	}
}

// TestPrimesResumes: a newcomer's plugin, primes, resumes from its checkpoint on another node.
func TestPrimesResumes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--session-ttl", "2s")
	c.push("primes")
	c.submit(0, map[string]any{"behavior": "primes", "id": "primes-1", "params": map[string]int{"limit": 2_000_000_000}}) // many checkpoints long, also on a quick machine
	victim := c.runningOn("primes-1")
	c.eventually("there is a checkpoint", func() bool {
		code, data := c.do(t.Context(), 0, "GET", "/v1/tasks/primes-1", nil)
		return code == http.StatusOK && (strings.Contains(string(data), `"checkpoint`) || strings.Contains(string(data), `"final":true`))
	})
	c.process(victim).kill9()
	deadline := time.Now().Add(2 * patience)
	for {
		got := c.get("primes-1", "?wait=5s")
		if got.Final {
			if got.Status != "SUCCESS" || !strings.Contains(string(got.Result), "98222287") || got.Attempt < 2 {
				t.Fatalf("%+v (result %s)", got, got.Result)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not final: %+v", got)
		}
	}
}
