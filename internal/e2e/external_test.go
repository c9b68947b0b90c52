package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestExternalGo and TestExternalPython run the programs of examples/external against three nodes: what the pages say of an
// external worker, shown with workers and nodes that die. The nodes have a secret, and a worker has no more than the role work (SPEC A5).
func TestExternalGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "worker")
	if out, err := leash.Command("go", "build", "-o", path, "github.com/taskrt/taskrt/examples/external/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := newPinCluster(t)
	pin, err := leash.Command(binary, "secret", "ca", c.secret).Output()
	if err != nil {
		t.Fatal(err)
	}
	testExternal(t, c, func(name string) *program {
		return startProgram(t, nil, path, "-ca", strings.TrimSpace(string(pin)), "-token-file", c.tokenFile, "-server", strings.Join(c.urls(), ","), "-behavior", "pin", "-name", name, "-rest", "200ms")
	})
}

func TestExternalPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: the Python worker of examples/external needs python3 on the PATH: ", err)
	}
	c := newPinCluster(t)
	path := filepath.Join("..", "..", "examples", "external", "python", "worker.py")
	testExternal(t, c, func(name string) *program {
		return startProgram(t, nil, python, path, "--ca", c.ca, "--token-file", c.tokenFile, "--server", strings.Join(c.urls(), ","), "--behavior", "pin", "--name", name, "--rest", "0.2")
	})
}

// TestExternalPythonOverAStream: the same worker over a stream, and a program that submits many tasks over one (SPEC H5).
func TestExternalPythonOverAStream(t *testing.T) {
	t.Parallel()
	python := pythonWithWebSockets(t)
	c := newPinCluster(t)
	dir, keepClean := filepath.Join("..", "..", "examples", "external", "python"), []string{"PYTHONDONTWRITEBYTECODE=1"}
	testExternal(t, c, func(name string) *program {
		return startProgram(t, keepClean, python, filepath.Join(dir, "streams.py"), "--ca", c.ca, "--token-file", c.tokenFile, "--server", strings.Join(c.urls(), ","), "--behavior", "pin", "--name", name, "--rest", "0.2")
	})

	workers := startProgram(t, keepClean, python, filepath.Join(dir, "streams.py"), "--ca", c.ca, "--token-file", c.tokenFile, "--server", strings.Join(c.urls(), ","), "--behavior", "pin", "--worker-slots", "20")
	token := filepath.Join(t.TempDir(), "submit.token")
	writeSecret(t, token, c.draw("submitter", "default", "submit")+"\n")
	var params, want []string
	for pin := range 150 {
		h := sha256.Sum256(fmt.Appendf(nil, "%03d", pin))
		params = append(params, fmt.Sprintf(`{"digits":3,"sha256":"%x"}`, h))
		want = append(want, fmt.Sprintf(`%s SUCCESS {"pin": "%03d", "from": 0}`, params[pin], pin))
	}
	submit := leash.CommandContext(t.Context(), python, filepath.Join(dir, "submit.py"), "--ca", c.ca, "--token-file", token, "--server", strings.Join(c.urls(), ","), "--behavior", "pin")
	submit.Env, submit.Stdin = append(os.Environ(), keepClean...), strings.NewReader(strings.Join(params, "\n"))
	out, err := submit.CombinedOutput()
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, out)
	}
	workers.terminate()
}

// pythonWithWebSockets finds a Python that has the library of the examples. Another Python may stand before that of the system.
func pythonWithWebSockets(t *testing.T) string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && leash.Command(path, "-c", "import websockets").Run() == nil {
			return path
		}
	}
	t.Skip("SKIPPED, NOT TESTED: needs the library websockets of Python: apt-get install python3-websockets")
	return ""
}

// TestPythonReportsInstead: what the Python worker reports when its report was refused: only a result that the behavior does
// not take is final.
func TestPythonReportsInstead(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: the Python worker of examples/external needs python3 on the PATH: ", err)
	}
	const program = `
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from worker import Attempt, Refused
large, gone = Refused(413, "too_large", "x"), Refused(409, "blob_gone", "x")
final = lambda body, why: not Attempt.instead(body, why)["error"]["retryable"]
assert final({"result": 1}, large) and not final({"result": 1}, gone)
assert final({"result": 1}, Refused(422, "result_schema", "x"))
assert not final({"error": {"message": "m"}}, large) and not final({"error": {"message": "m", "retryable": True}}, large)
assert final({"error": {"message": "m", "retryable": False}}, gone)
assert Attempt.instead({"again_at": "t", "checkpoint": 1}, large) == {"again_at": "t"}
`
	out, err := leash.CommandContext(t.Context(), python, "-c", program, filepath.Join("..", "..", "examples", "external", "python")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pinCluster is a cluster with the external behavior pin, and a file with the token of its workers.
type pinCluster struct {
	*cluster

	secret, tokenFile string
	drawn             int // tokens that were in the file
}

func newPinCluster(t *testing.T) *pinCluster {
	t.Helper()
	secret, _ := drawSecret(t)
	c := &pinCluster{cluster: newCluster(t, "--cluster-secret", secret, "--worker", "none"), secret: secret, tokenFile: filepath.Join(t.TempDir(), "pin.token")}
	if code, body := c.do(t.Context(), 0, "PUT", "/v1/behaviors/pin", json.RawMessage(
		`{"kind":"external","lease":"6s","cancel_grace":"20s","retry":{"max_attempts":3,"initial_interval":"100ms"}}`)); code != http.StatusCreated {
		t.Fatalf("put the behavior: %d %s", code, body)
	}
	c.renew()
	return c
}

// renew puts another token into the file of the workers, and revokes the one that was there.
func (c *pinCluster) renew() {
	c.t.Helper()
	c.drawn++
	writeSecret(c.t, c.tokenFile, c.draw(fmt.Sprint("pin-", c.drawn), "default", "work")+"\n")
	if c.drawn == 1 {
		return
	}
	code, body := c.insist(c.t.Context(), 0, http.MethodDelete, fmt.Sprint("/v1/tokens/pin-", c.drawn-1), nil)
	if code != http.StatusNoContent {
		c.t.Fatalf("revoke: %d %s", code, body)
	}
}

// longPIN takes 35 rests of 200 ms to find: more than a lease lasts.
const longPIN = "350000"

// testExternal lets workers find PINs that take long, and interrupts them.
func testExternal(t *testing.T, c *pinCluster, start func(name string) *program) {
	t.Helper()
	pin := func(name string, params map[string]any) string {
		id := "pin-" + name
		c.submit(c.leader(), map[string]any{"behavior": "pin", "id": id, "params": params})
		return id
	}
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	long := map[string]any{"digits": 6, "sha256": sum(longPIN)}
	endless := map[string]any{"digits": 9, "sha256": sum("none")}

	first := start("first")
	got := c.final(pin("short", map[string]any{"digits": 4, "sha256": sum("0042")}))
	if got.Status != "SUCCESS" || string(got.Result) != `{"pin":"0042","from":0}` {
		t.Errorf("short: %+v", got)
	}
	got = c.final(pin("none", map[string]any{"digits": 2, "sha256": sum("none")}))
	if got.Error == nil || got.Error.Code != "not_found" || got.Attempt != 1 {
		t.Errorf("a permanent failure: %+v", got)
	}
	if got = c.final(pin("bad", map[string]any{"digits": "many"})); got.Error == nil || got.Error.Code != "bad_params" || got.Attempt != 1 {
		t.Errorf("bad params: %+v", got)
	}

	// A node dies, the leader: the attempt goes on at another, and no attempt is lost.
	id := pin("leader", long)
	first.line("begin " + id)
	leader := c.nodes[c.leader()]
	leader.kill9()
	got = c.final(id)
	if got.Status != "SUCCESS" || string(got.Result) != `{"pin":"`+longPIN+`","from":0}` || got.Attempt != 1 {
		t.Errorf("through the death of the leader: %+v", got)
	}
	leader.start()
	c.waitReady()

	// The token is replaced and the former one revoked while a task runs, and while an accept waits: the worker goes on.
	id = pin("renewed", long)
	first.line("begin " + id)
	c.renew()
	if got = c.final(id); got.Status != "SUCCESS" || got.Attempt != 1 || got.LostCount != 0 {
		t.Errorf("with another token: %+v", got)
	}
	c.renew()
	if got = c.final(pin("after", map[string]any{"digits": 1, "sha256": sum("7")})); got.Status != "SUCCESS" {
		t.Errorf("after another token: %+v", got)
	}

	// Cancelled while it runs.
	id = pin("cancel", endless)
	first.line("begin " + id)
	if code, body := c.do(t.Context(), 0, "POST", "/v1/tasks/"+id+"/cancel", nil); code != http.StatusAccepted {
		t.Errorf("cancel: %d %s", code, body)
	}
	first.line("end " + id)
	if got = c.final(id); got.Error == nil || got.Error.Code != "CANCELLED" || len(got.History) != 1 {
		t.Errorf("cancelled: %+v", got)
	}

	// Removed while it runs: halt.
	id = pin("removed", endless)
	first.line("begin " + id)
	if code, body := c.do(t.Context(), 1, "DELETE", "/v1/tasks/"+id, nil); code != http.StatusNoContent {
		t.Errorf("remove: %d %s", code, body)
	}
	first.line("end " + id)

	// The worker is killed: another goes on from the checkpoint, once the lease is over.
	id = pin("killed", long)
	first.line("begin " + id)
	c.eventually("a checkpoint is stored", func() bool { return c.checkpoint(id) > 0 })
	first.kill9()
	second := start("second")
	second.line("begin " + id)
	checkFrom(t, c.cluster, id, 2, "LOST")

	// The worker stands still for longer than its lease, and wakes when another has the task: what it says is refused.
	id = pin("stopped", long)
	second.line("begin " + id)
	c.eventually("a checkpoint is stored", func() bool { return c.checkpoint(id) > 0 })
	signal(t, second, syscall.SIGSTOP)
	third := start("third")
	third.line("begin " + id)
	signal(t, second, syscall.SIGCONT)
	second.line("end " + id)
	checkFrom(t, c.cluster, id, 2, "LOST")

	// The worker is asked to stop: it gives the task back, at once and from its checkpoint.
	second.terminate()
	id = pin("drained", long)
	third.line("begin " + id)
	c.eventually("a checkpoint is stored", func() bool { return c.checkpoint(id) > 0 })
	signal(t, third, syscall.SIGTERM) // twice: timeout(1) sends it to a process and to its group
	third.terminate()
	if got = c.get(id, ""); got.Status != "CREATED" || got.LostCount != 0 || got.Failures != 0 {
		t.Errorf("given back: %+v", got)
	}
	fourth := start("fourth")
	checkFrom(t, c.cluster, id, 2, "SNOOZED")
	fourth.terminate()
	c.digestsAgree()
}

// checkFrom demands that a task succeeded in this attempt, which went on where the one before ended.
func checkFrom(t *testing.T, c *cluster, id string, attempt int64, before string) {
	t.Helper()
	got := c.final(id)
	var result struct {
		PIN  string
		From int
	}
	if err := json.Unmarshal(got.Result, &result); err != nil {
		t.Fatalf("%s: %v: %+v", id, err, got)
	}
	n := len(got.History)
	if result.PIN != longPIN || result.From == 0 || got.Attempt != attempt || n != 2 || got.History[0].Outcome != before {
		t.Errorf("%s: %+v, %s", id, got, got.Result)
	}
}

// checkpoint is where a task would go on.
func (c *cluster) checkpoint(id string) (next int) {
	code, data := c.do(c.t.Context(), c.leader(), "GET", "/v1/tasks/"+id, nil)
	var r struct {
		Task struct {
			Checkpoint struct{ Next int }
		}
	}
	if code == http.StatusOK {
		if err := json.Unmarshal(data, &r); err != nil {
			c.t.Fatalf("%v: %s", err, data)
		}
	}
	return r.Task.Checkpoint.Next
}

func signal(t *testing.T, p *program, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// terminate asks for a clean end and demands it.
func (p *program) terminate() {
	p.t.Helper()
	signal(p.t, p, syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("it ended with %v: %s", err, fmt.Sprint(&p.errs))
	}
}
