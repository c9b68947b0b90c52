package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestWorkersOfTwoVersions: a `taskrt worker` and a program with package extworker work for servers of the version before or after their own, with
// all that a secret and tokens ask of them. They do so while the servers change to the workers' version, one after the other, and back, and no
// attempt is lost by it (SPEC C9).
func TestWorkersOfTwoVersions(t *testing.T) {
	t.Parallel()
	former := buildFormer(t, version010)
	worker := map[string]string{former: buildFormerProgram(t, version010, "./examples/external/go"), binary: filepath.Join(t.TempDir(), "pin")}
	if out, err := leash.Command("go", "build", "-o", worker[binary], "github.com/taskrt/taskrt/examples/external/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, x := range map[string]struct{ servers, workers string }{
		"former-servers": {former, binary},
		"former-workers": {binary, former},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVersions(t, former, x.servers, x.workers)
			v.startPin(t, worker[x.workers])
			v.work("before")
			v.lives()
			for _, exe := range []string{x.workers, x.servers} {
				for i := range v.nodes {
					v.replace(i, exe)
				}
				v.work("after " + filepath.Base(exe))
			}
			v.cancelled()
			v.digestsAgree()
		})
	}
}

// TestOperatorsOfTwoVersions: an operator's commands work with servers of the version before or after theirs: tokens, contexts, members, the audit,
// issuers. What only this build knows is refused by the former servers, and the refusal says why (SPEC C9).
func TestOperatorsOfTwoVersions(t *testing.T) {
	t.Parallel()
	former := buildFormer(t, version010)
	formerBin := t.TempDir()
	if err := os.Symlink(former, filepath.Join(formerBin, "taskrt")); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ servers, commands string }{
		"former-servers":  {former, filepath.Dir(binary)},
		"former-commands": {"", formerBin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, _ := drawSecret(t)
			u := newUser(newClusterOf(t, x.servers, *logStore, nil, "--cluster-secret", secret))
			u.bin = x.commands
			administers(t, u, secret)
			u.sh(0, `taskrt context list; taskrt context show ann; taskrt context rm prod`)
			if out, _ := u.sh(0, `taskrt audit`); !strings.Contains(out, "ann") {
				t.Errorf("the audit: %s", out)
			}
			u.sh(0, `taskrt oidc set work --issuer https://127.0.0.1:1/ --client-id taskrt --rule 'group=dev read'; taskrt oidc list; taskrt oidc rm work`)
			if out, _ := u.sh(0, `taskrt cluster status; taskrt cluster workers; taskrt cluster drain n2; taskrt cluster undrain n2`); !strings.Contains(out, "feature level") {
				t.Errorf("the cluster: %s", out)
			}
			u.sh(0, `taskrt namespace create shop --max-tasks 3; taskrt namespace set shop --weight 20; taskrt namespace list; taskrt behavior pause wordcount; taskrt maintenance info`)
			if x.servers != "" {
				u.refused(`taskrt cluster approve n2`, "the server may be of a former version")
				u.refused(`taskrt cluster transfer`, "the server may be of a former version")
			}
		})
	}
}

// versions is a cluster whose servers have one version and whose workers another.
type versions struct {
	*cluster
	servers, workers string // binaries
	tokenFile, pin   string
	rounds           int
	begun            task // the long task, when it runs
}

// newVersions starts three servers that run nothing themselves, and a worker. The former version founds the cluster, so that its level is the
// highest that both know.
func newVersions(t *testing.T, former, servers, workers string) *versions {
	t.Helper()
	secret, _ := drawSecret(t)
	derived := filepath.Join(t.TempDir(), "worker.secret")
	workerSecret(t, secret, derived)
	v := &versions{cluster: newClusterOf(t, former, *logStore, nil, "--cluster-secret", secret, "--worker", "none", "--session-ttl", "60s"), servers: servers, workers: workers}
	for i := range v.nodes {
		v.nodes[i].args = append(v.nodes[i].args, "--hold-feature-level") // else there is no way back after ten minutes
		v.replace(i, servers)
	}
	v.tokenFile = filepath.Join(t.TempDir(), "pin.token")
	writeSecret(t, v.tokenFile, v.draw("pin", "default", "work")+"\n")
	out, err := leash.Command(workers, "secret", "ca", secret).Output()
	if err != nil {
		t.Fatal(err)
	}
	v.pin = strings.TrimSpace(string(out))
	for _, exe := range []string{servers, workers} {
		v.taskrt(exe, "push", wasm("steps"))
	}
	v.taskrt(workers, "push", wasm("wait"))
	v.addWorkerOf(workers, "w1", 4, "--cluster-secret", derived)
	return v
}

// startPin starts a program that works for the behavior pin, by a token with the role work alone.
func (v *versions) startPin(t *testing.T, exe string) {
	v.t.Helper()
	if code, body := v.insist(v.t.Context(), 0, http.MethodPut, "/v1/behaviors/pin", json.RawMessage(`{"kind":"external","lease":"6s","retry":{"max_attempts":3}}`)); code != http.StatusCreated {
		v.t.Fatalf("put the behavior: %d %s", code, body)
	}
	startProgram(t, nil, exe, "-ca", v.pin, "-token-file", v.tokenFile, "-server", strings.Join(v.urls(), ","), "-behavior", "pin", "-name", "pin", "-rest", "1ms")
}

// work submits tasks by the commands of both versions, and waits for their outcomes.
func (v *versions) work(when string) {
	v.t.Helper()
	v.rounds++
	sum := sha256.Sum256([]byte("0042"))
	for i, exe := range []string{v.servers, v.workers} {
		steps, pin := fmt.Sprintf("steps-%d-%d", v.rounds, i), fmt.Sprintf("pin-%d-%d", v.rounds, i)
		v.taskrt(exe, "submit", "steps", "--id", steps, "--label", "round="+when)
		v.taskrt(exe, "submit", "pin", "--id", pin, "--params", `{"digits":4,"sha256":"`+hex.EncodeToString(sum[:])+`"}`)
		if got := v.final(steps); got.Status != "SUCCESS" {
			v.t.Errorf("%s: %s: %+v", when, steps, got)
		}
		if got := v.final(pin); got.Status != "SUCCESS" || !strings.HasPrefix(string(got.Result), `{"pin":"0042",`) {
			v.t.Errorf("%s: %s: %+v", when, pin, got)
		}
	}
}

// long is a task that runs while the servers are replaced.
const long = "runs-on"

// lives starts the long task, after the worker was killed and has come back. A task that the leader gave to the killed process is lost, and runs
// again: what counts is the attempt that runs.
func (v *versions) lives() {
	v.t.Helper()
	w := v.cluster.workers[0]
	w.kill9()
	w.start()
	v.submit(0, map[string]any{"behavior": "wait", "id": long, "params": 3_600_000})
	v.eventually("a guest of the long task runs", func() bool {
		v.begun = v.get(long, "")
		return v.begun.Status == "RUNNING" && len(v.begun.Progress) > 0 // it beats
	})
}

// cancelled: the long task still runs in the same attempt, and its guest hears of a cancel.
func (v *versions) cancelled() {
	v.t.Helper()
	if got := v.get(long, ""); got.Status != "RUNNING" || got.Attempt != v.begun.Attempt || got.LostCount != v.begun.LostCount {
		v.t.Errorf("after the servers were replaced: %+v", got)
	}
	v.cancel(long)
	if got := v.final(long); got.Error == nil || got.Error.Code != "CANCELLED" {
		v.t.Errorf("cancelled: %+v", got)
	}
}

// replace starts another binary on the directory of a server.
func (v *versions) replace(i int, exe string) {
	v.t.Helper()
	p := v.nodes[i]
	if v.rounds%2 == 0 {
		p.terminate()
	} else {
		p.signal(syscall.SIGKILL)
		p.wait()
	}
	p.exe = exe
	p.start()
	v.waitReady()
}
