package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

// What happens to guests and to modules costs runs and pushes, never a vote, an election or an answer (SPEC L5).

// guestsOf waits for the process of a node's guests.
func (c *cluster) guestsOf(p *process) (pid int) {
	c.t.Helper()
	c.eventually(p.id+" has a process for guests", func() (found bool) {
		pid, found = trio.Guests(p.cmd.Process.Pid)
		return found
	})
	return pid
}

// undisturbed notes who leads. The function that it returns demands that nothing has changed since, and that every node answers. It demands nothing of
// a machine on which a node stood still, as its heartbeats did then: it is for what takes no CPU itself.
func (c *cluster) undisturbed() func() {
	c.t.Helper()
	watch, stood := c.watchLeader(), c.watchTurns()
	return func() {
		c.t.Helper()
		why := watch()
		if longest := stood(); why != "" && longest > standstill {
			c.t.Logf("a node stood still for %v, which says nothing of it: %s", longest, why)
		} else if why != "" {
			c.t.Error(why)
		}
	}
}

// watchTurns returns a function that says for how long at most a thread of a node has waited for a CPU, as the kernel counts it.
func (c *cluster) watchTurns() func() time.Duration {
	c.t.Helper()
	var pids []int
	for _, p := range c.nodes {
		pids = append(pids, p.cmd.Process.Pid)
	}
	waits := func() map[string]time.Duration { // of threads, so far
		all := map[string]time.Duration{}
		for _, pid := range pids {
			files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
			for _, file := range files {
				text, _ := os.ReadFile(file) // the thread may have ended
				if fields := strings.Fields(string(text)); len(fields) == 3 {
					ns, _ := strconv.ParseInt(fields[1], 10, 64)
					all[file] = time.Duration(ns)
				}
			}
		}
		return all
	}
	var longest atomic.Int64
	go func() {
		before, at := waits(), time.Now()
		for c.t.Context().Err() == nil {
			<-time.After(50 * time.Millisecond)
			now, took := waits(), time.Since(at)
			for thread, waited := range now {
				if had, known := before[thread]; known { // a wait is counted when it ends: what is more than the time since the last look was one wait
					longest.Store(max(longest.Load(), int64(waited-had-took)))
				}
			}
			before, at = now, at.Add(took)
		}
	}()
	return func() time.Duration { return time.Duration(longest.Load()) }
}

// watchLeader notes who leads. The function that it returns says what has changed since, or who does not answer; "" if nothing. It says nothing of a
// machine on which this test itself stood still, as heartbeats did then.
func (c *cluster) watchLeader() func() string {
	c.t.Helper()
	c.leader()
	var stood atomic.Int64 // the longest, in ns
	go func() {
		for last := time.Now(); c.t.Context().Err() == nil; {
			<-time.After(10 * time.Millisecond)
			stood.Store(max(stood.Load(), int64(time.Since(last))))
			last = time.Now()
		}
	}()
	before, ok := c.status()
	if !ok {
		c.t.Fatal("no status")
	}
	return func() (why string) {
		c.t.Helper()
		after, ok := c.status()
		if stood := time.Duration(stood.Load()); stood > standstill {
			c.t.Logf("this process stood still for %v: what became of the leader says nothing", stood)
			return ""
		}
		if !ok || after.Leader != before.Leader {
			return fmt.Sprintf("the leader was %s, is %s", before.Leader, after.Leader)
		}
		for i, n := range after.Nodes {
			if n.Term != before.Nodes[i].Term || !n.Reachable || !c.nodes[i].running() {
				why += fmt.Sprintf("before %+v, after %+v\n", before.Nodes[i], n)
			}
		}
		return why
	}
}

// standstill is how long this process may go without a turn on a machine that is said to be fit to run a cluster.
const standstill = 200 * time.Millisecond

// tries does something up to three times, until the cluster was not disturbed by it: a busy machine may change its leader by itself, but what disturbs
// a leader does so every time.
func (c *cluster) tries(what string, do func(try int) (disturbed string)) {
	c.t.Helper()
	for try := 1; ; try++ {
		why := do(try)
		if why == "" {
			return
		}
		if c.t.Logf("%s, try %d: %s", what, try, why); try == 3 {
			c.t.Errorf("%s: each of %d times the cluster was disturbed", what, try)
			return
		}
	}
}

// TestGuestsDieAlone: whatever ends the process of the leader's guests, the task runs again, and every submit to every node is answered
// meanwhile by the same leader in the same term. Each way to die has three tries.
func TestGuestsDieAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--session-ttl", "3s")
	c.push("wait", "echo")
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGSTOP} {
		c.tries(how.String(), func(try int) string { return c.strike(how, fmt.Sprintf("%d-%d", int(how), try)) })
	}
	c.digestsAgree()
}

// strike ends the process in which the guest of a new task executes, and says how the cluster was disturbed by it; "" if it was not.
func (c *cluster) strike(how syscall.Signal, round string) (disturbed string) {
	c.t.Helper()
	watch := c.watchLeader()
	id := "struck-" + round
	c.submit(0, map[string]any{"behavior": "wait", "id": id, "params": map[string]int{"ms": 4000}})
	struck := c.process(c.runningOn(id))
	before := 0 // not guestsOf: what ran the suspect of the round before alone may still be there
	c.eventually("it executes", func() bool {
		all := struck.executions()
		if i := slices.IndexFunc(all, func(e execution) bool { return e.Task == id }); i >= 0 {
			before = all[i].PID
		}
		return before > 0
	})
	if err := syscall.Kill(before, how); err != nil {
		c.t.Fatal(err)
	}
	for i := 0; !c.get(id, "").Final; i++ {
		echo := fmt.Sprint("beside-", round, "-", i)
		c.submit(i%3, map[string]any{"behavior": "echo", "id": echo})
		if got := c.final(echo); got.Status != "SUCCESS" {
			c.t.Errorf("%+v", got)
		}
	}
	got := c.final(id)
	if got.Status != "SUCCESS" || got.Attempt < 2 {
		c.t.Errorf("%v: %+v", how, got)
	}
	if got.Attempt > 2 {
		disturbed = fmt.Sprintf("%+v\n", got)
	}
	c.eventually("another process for guests", func() bool { pid, found := trio.Guests(struck.cmd.Process.Pid); return found && pid != before })
	return disturbed + watch()
}

// TestKilledServerWithStoppedGuests: the guests' process of a server that is killed does not go on when somebody wakes it up: it ends
// before any guest does anything. The next server's guests prove that it is dead.
func TestKilledServerWithStoppedGuests(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--session-ttl", "10m")
	c.push("wait")
	c.submit(0, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 4000}})
	victim := c.process(c.runningOn("long"))
	guests := c.guestsOf(victim)
	if err := syscall.Kill(guests, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	victim.kill9()
	_ = syscall.Kill(guests, syscall.SIGCONT) // it may be gone already
	c.eventually("its guests are gone", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", guests))
		return err != nil || bytes.Contains(state, []byte(") Z ")) // whoever is init here may be slow to reap
	})
	victim.deaths = append(victim.deaths, boottime(t))
	victim.start()
	if got := c.final("long"); got.Status != "SUCCESS" || got.Attempt != 2 {
		t.Errorf("%+v", got)
	}
}

// compiling waits for a process of a node that compiles.
func (c *cluster) compiling(p *process) (pid int) {
	c.t.Helper()
	c.eventually(p.id+" compiles", func() bool {
		for _, pid = range trio.Family(p.cmd.Process.Pid)[1:] {
			if trio.Executes(pid, "compile") {
				return true
			}
		}
		return false
	})
	return pid
}

// pushed is the answer to an upload.
type pushed struct {
	code int
	body []byte
}

// pushTo uploads a module to one node in the background.
func (c *cluster) pushTo(ctx context.Context, node int, name, file string) <-chan pushed {
	c.t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := make(chan pushed, 1)
	go func() {
		defer close(answer)
		url := "http://" + c.nodes[node].http + "/v1/modules?name=" + name
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(wasm))
		if err != nil {
			c.t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/wasm")
		resp, err := c.http.Do(req)
		if err != nil {
			return // ctx has ended
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		answer <- pushed{resp.StatusCode, body.Bytes()}
	}()
	return answer
}

// TestCompilingDisturbsNobody: a module that is compiled for ever holds up no other; a compiler that dies is an answer to the push; a
// client that leaves ends it.
func TestCompilingDisturbsNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	large, small := wasm("wordcount"), wasm("echo")
	for i, p := range c.nodes { // they share code with other tests
		p.terminate()
		if err := os.RemoveAll(filepath.Join(p.dir, "data", "wasm-cache")); err != nil {
			t.Fatal(i, err)
		}
		p.start() // anew, because guests behind the wall see the directory that was there when they began (SPEC A10)
	}
	c.waitReady()
	check := c.undisturbed()
	push := func(ctx context.Context) (int, <-chan pushed) {
		answer := c.pushTo(ctx, 0, "wordcount", large)
		pid := c.compiling(c.nodes[0])
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		return pid, answer
	}
	pid, answer := push(t.Context())
	if got := <-c.pushTo(t.Context(), 0, "echo", small); got.code != http.StatusOK && got.code != http.StatusCreated {
		t.Fatalf("a small module beside a large one: %d %s", got.code, got.body)
	}
	c.submit(0, map[string]any{"behavior": "echo", "id": "beside"})
	if got := c.final("beside"); got.Status != "SUCCESS" {
		t.Errorf("%+v", got)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := <-answer
	var why problem
	if err := json.Unmarshal(got.body, &why); err != nil || got.code != http.StatusUnprocessableEntity || why.Code != "compile_failed" {
		t.Errorf("the compiler was killed: %d %s", got.code, got.body)
	}
	ctx, leave := context.WithCancel(t.Context())
	pid, _ = push(ctx)
	leave()
	c.eventually("the process of a client that has left is gone", func() bool { return !slices.Contains(trio.Family(c.nodes[0].cmd.Process.Pid), pid) })
	check()
}

// TestPoisonAmongInnocents: one task among 64 of one process ends that process whenever it runs. The 63 others succeed, none counted as
// lost; the one is CRASHED, after the process that it had to itself has died (SPEC L5).
func TestPoisonAmongInnocents(t *testing.T) {
	t.Parallel()
	const slots = 64
	c := newCluster(t, "--worker-slots", fmt.Sprint(slots))
	c.push("wait")
	check := c.undisturbed()
	cli := func(how string) {
		t.Helper()
		for _, id := range []string{"n2", "n3"} {
			c.taskrt(binary, "cluster", how, id)
		}
	}
	cli("drain") // all meet in one process
	ids := make([]string, slots)
	for i := range ids {
		ids[i] = fmt.Sprint("innocent-", i)
	}
	ids[slots/2] = "poison"
	for i, id := range ids {
		ms := 1500
		if id == "poison" {
			ms = 60_000 // it never gets there
		}
		c.submit(i%3, map[string]any{"behavior": "wait", "id": id, "params": map[string]int{"ms": ms}})
	}
	struck := map[uint64]bool{}
	strike := func() {
		for _, p := range c.nodes {
			all := p.executions()
			for _, e := range all {
				if e.Task != "poison" || e.End != 0 || struck[e.Token] || len(struck) == 0 && len(all) < slots {
					continue
				}
				struck[e.Token] = true
				if err := syscall.Kill(e.PID, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
				if len(struck) == 1 {
					cli("undrain") // that the others come soon
				}
			}
		}
	}
	c.eventually("the poison is final", func() bool { strike(); return c.get("poison", "").Final })
	for _, id := range ids {
		got := c.final(id)
		if got.LostCount != 0 {
			t.Errorf("%s was counted as lost: %+v", id, got)
		}
		if id != "poison" {
			if got.Status != "SUCCESS" || got.Failures != 0 || got.Attempt > 2 {
				t.Errorf("%+v", got)
			}
			continue
		}
		if got.Status != "FAILURE" || got.Error == nil || got.Error.Code != "CRASHED" {
			t.Errorf("%+v %+v", got, got.Error)
		}
		for i, h := range got.History {
			if alone := strings.HasSuffix(h.Worker, "/alone"); alone != (i > 0) {
				t.Errorf("attempt %d on %s", i+1, h.Worker)
			}
		}
		t.Logf("the poison ended %d processes", len(struck))
	}
	check()
}

// TestGuestsOfAWorkerDieAlone: a worker without a node has its guests in a child, too, and tells the cluster of its death. The TTL is so long that
// nothing else could end the session.
func TestGuestsOfAWorkerDieAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "10m")
	c.push("wait")
	w := c.addWorker("w1", 4)
	c.submit(1, map[string]any{"behavior": "wait", "id": "long", "params": map[string]int{"ms": 4000}})
	c.eventually("it executes", func() bool { return len(w.executions()) > 0 })
	if err := syscall.Kill(c.guestsOf(w), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := c.final("long")
	if got.Status != "SUCCESS" || got.Attempt != 2 || got.LostCount != 0 || got.History[0].Outcome != "SUSPECT" || got.History[1].Worker != "w1/alone" {
		t.Errorf("%+v", got)
	}
	if !w.running() {
		t.Errorf("the worker has ended; log:\n%s", w.log())
	}
	refusedBeside(t, w)
}

// refusedBeside demands that no second worker starts in the directory of w, whatever runs its guests: it would clear away its files.
func refusedBeside(t *testing.T, w *process) {
	t.Helper()
	for _, kind := range []string{"process", "inline"} {
		args := append(slices.Clone(w.args), "--worker", kind)
		if i := slices.Index(w.args, "--worker"); i >= 0 {
			args = slices.Clone(w.args)
			args[i+1] = kind
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		second := leash.CommandContext(ctx, binary, args...)
		out, err := second.CombinedOutput()
		cancel()
		if err == nil || second.ProcessState.ExitCode() != 7 || !strings.Contains(string(out), "in use") {
			t.Errorf("a second worker there, %s: %v\n%s", kind, err, out)
		}
	}
}

// TestInlineWorkerHasItsDirectory: also one that runs its guests itself.
func TestInlineWorkerHasItsDirectory(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	refusedBeside(t, c.addWorker("w1", 4, "--worker", "inline"))
}
