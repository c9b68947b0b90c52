package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
)

// formerBuild is the last commit whose log, snapshots and node.json had the format before wire.Format 2.
const formerBuild = "48471a013f9012cf2ecc35a513597b13d5e408be"

// version010 is the commit that is version 0.1.0.
const version010 = "eb7019f017c43a359de6a820740d9b161f0b39c2"

// buildFormer makes taskrt of a commit of this repository.
func buildFormer(t *testing.T, commit string) string {
	t.Helper()
	return buildFormerProgram(t, commit, "./cmd/taskrt")
}

// buildFormerProgram makes a program of a commit of this repository. Where the history is not there it skips the test. It fails instead if a whole
// clone has not got the commit, and in .ci/run, which says that the history must be there.
func buildFormerProgram(t *testing.T, commit, pkg string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "former")
	err := built.Program(".", commit, pkg, exe)
	if errors.Is(err, built.ErrNotInHistory) && os.Getenv("TASKRT_WHOLE_HISTORY") == "" {
		if shallow, err := leash.Command("git", "rev-parse", "--is-shallow-repository").Output(); os.Getenv("CI") == "" || err != nil || string(shallow) != "false\n" {
			t.Skipf("NOT TESTED with a former build: %v", built.ErrNotInHistory)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// single makes a cluster of one node, which is not started yet.
func single(t *testing.T, exe, dir string) *cluster {
	c := &cluster{t: t, http: &http.Client{Timeout: patience}}
	p := &process{t: t, id: "n1", exe: exe, dir: dir, http: freeAddr(t)}
	p.args = []string{"server", "--id", "n1", "--dir", filepath.Join(dir, "data"), "--http", p.http, "--raft", freeAddr(t)}
	c.nodes = []*process{p}
	t.Cleanup(c.stop)
	return c
}

// TestDirectoryOfTheFormerFormat: this build refuses a directory of the former format before it votes, says what to do, and changes nothing;
// what it said moves the content over (SPEC C9).
func TestDirectoryOfTheFormerFormat(t *testing.T) {
	t.Parallel()
	former := buildFormer(t, formerBuild)
	dir := t.TempDir()
	c := single(t, former, dir)
	p := c.nodes[0]
	p.start()
	c.waitReady()
	c.taskrt(former, "push", wasm("wordcount"))
	c.taskrt(former, "submit", "wordcount", "--id", "done", "--params", `{"text":"a b a"}`, "--wait")
	c.taskrt(former, "submit", "wordcount", "--id", "waits", "--params", `{"text":"b"}`, "--delay", "24h", "--label", "team=red")
	resp, err := c.http.Post("http://"+p.http+"/taskstore/update", "application/json", strings.NewReader(`{"clientid":7,"adds":[{"group":"g","data":"record"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	p.terminate()

	p.exe = ""
	p.start()
	p.wait()
	if code := p.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d on a directory of the former format", code)
	}
	for _, want := range []string{"from before 0.1.0", "has changed nothing", "taskrt ns export NAME --file FILE", "taskrt namespace import NAME FILE"} {
		if !strings.Contains(p.log(), want) {
			t.Errorf("it does not say %q; log:\n%s", want, p.log())
		}
	}

	p.exe = former
	p.start()
	c.waitReady()
	file := filepath.Join(dir, "default.jsonl")
	c.taskrt(former, "ns", "export", "default", "--file", file)
	p.terminate()

	n := single(t, "", t.TempDir())
	n.nodes[0].start()
	n.waitReady()
	n.taskrt(binary, "namespace", "import", "default", file)
	var done, waits struct {
		Task struct {
			Status    string            `json:"status"`
			Final     bool              `json:"final"`
			Result    json.RawMessage   `json:"result"`
			Labels    map[string]string `json:"labels"`
			NotBefore string            `json:"not_before"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(n.taskrt(binary, "get", "done", "-o", "json")), &done); err != nil || done.Task.Status != "SUCCESS" || string(done.Task.Result) != `{"words":{"a":2,"b":1},"total":3}` {
		t.Errorf("what was done is %+v, %v", done, err)
	}
	if err := json.Unmarshal([]byte(n.taskrt(binary, "get", "waits", "-o", "json")), &waits); err != nil || waits.Task.Status != "CREATED" || waits.Task.Labels["team"] != "red" || waits.Task.NotBefore == "" {
		t.Errorf("what waits is %+v, %v", waits, err)
	}
	n.taskrt(binary, "submit", "wordcount", "--id", "waits", "--if-exists", "resubmit", "--wait")
	groups, err := n.http.Get("http://" + n.nodes[0].http + "/taskstore/group/g?owned=1")
	if err != nil {
		t.Fatal(err)
	}
	defer groups.Body.Close()
	if body, _ := io.ReadAll(groups.Body); !strings.Contains(string(body), "record") {
		t.Errorf("the records are %s", body)
	}
}
