package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// leaks searches for secrets where they must not be.
type leaks struct {
	t       *testing.T
	secrets map[string][]byte // by what they are
	looked  int
}

// add adds a secret that is a text, and the bytes of a taskrt secret, which its text encodes.
func (l *leaks) add(what, text string) {
	l.t.Helper()
	text = strings.TrimSpace(text)
	if len(text) < 16 {
		l.t.Fatalf("%s is no secret: %q", what, text)
	}
	l.secrets[what] = []byte(text)
	if _, code, ok := strings.Cut(text, "_"); ok {
		if raw, err := base64.RawURLEncoding.DecodeString(code); err == nil && len(raw) >= 32 {
			l.secrets["bytes of "+what] = raw[:32]
		}
	}
}

func (l *leaks) look(where string, text []byte) {
	l.t.Helper()
	l.looked++
	for what, secret := range l.secrets {
		if bytes.Contains(text, secret) {
			l.t.Errorf("%s is in %s", what, where)
		}
	}
}

// tree looks into every file below a directory.
func (l *leaks) tree(dir string) {
	l.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while the cluster runs
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		l.look(path, text)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// process looks at what everybody on the machine sees of a process and its children.
func (l *leaks) process(pid int) {
	l.t.Helper()
	for _, file := range []string{"cmdline", "environ", "comm", "status"} {
		path := fmt.Sprintf("/proc/%d/%s", pid, file)
		text, err := os.ReadFile(path)
		if err != nil && file == "cmdline" {
			l.t.Errorf("%s: %v", path, err)
		}
		l.look(path, text)
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, file := range tasks {
		text, _ := os.ReadFile(file) // the thread may be gone
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				l.process(n)
			}
		}
	}
}

// TestSecretsStaySecret uses every kind of secret, well and badly, and then searches for each: in all that nodes and a worker have written, in what
// they answer, and in what a machine shows of their processes (SPEC A9).
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	l := &leaks{t: t, secrets: map[string][]byte{}}
	secret, text := drawSecret(t)
	l.add("the cluster secret", text)
	derived := filepath.Join(t.TempDir(), "worker.secret")
	workerSecret(t, secret, derived)
	text2, err := os.ReadFile(derived)
	if err != nil {
		t.Fatal(err)
	}
	l.add("the worker secret", string(text2))
	l.add("the root token", rootToken(t, secret))
	grants := t.TempDir()
	const password = "correct-horse-battery-7319"
	l.add("a guest's secret", password)
	writeSecret(t, filepath.Join(grants, "mail-password"), password)
	file := filepath.Join(grants, "capabilities.json")
	writeSecret(t, file, `{"secrets_dir": ".", "grants": [{"namespace": "default", "behavior": "secrets*", "secrets": ["mail-*"]}]}`)

	c := newCluster(t, "--cluster-secret", secret, "--capabilities", file, "--log-level", "debug")
	c.addWorker("w1", 4, "--cluster-secret", derived, "--capabilities", file, "--log-level", "debug")
	c.push("secrets")
	ci := c.taskrt(binary, "token", "create", "ci-job", "--role", "read,submit")
	l.add("a token", ci)
	next := c.taskrt(binary, "token", "rotate", "ci-job")
	l.add("a rotated token", next)
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOiJ0YXNrcnQiLCJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWEtand0"
	l.add("a workload's JWT", jwt)
	name := filepath.Join(grants, "params")
	writeSecret(t, name, "mail-password")
	for range 8 { // some of them on the worker
		c.taskrt(binary, "submit", "secrets", "--params-bytes", name, "--wait")
	}
	root := c.token.Load()
	for _, bad := range []struct{ token, method, path, body string }{
		{*root, "GET", "/v1/tasks/" + strings.TrimSpace(ci), ""},
		{*root, "GET", "/v1/tasks?nothing=1", ""},
		{*root, "POST", "/v1/tokens", `{"name":"` + strings.TrimSpace(next)[:8] + `"}`},
		{strings.TrimSpace(ci) + "x", "GET", "/v1/self", ""},
		{strings.TrimSpace(next), "DELETE", "/v1/tokens/ci-job", ""},
		{"", "POST", "/v1/sign-in", `{"token":"` + jwt + `"}`},
		{jwt, "GET", "/v1/self", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), bad.method, c.urls()[1]+bad.path, strings.NewReader(bad.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+bad.token)
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode < 400 {
			t.Errorf("%s %s: %s", bad.method, bad.path, res.Status)
		}
		res.Body.Close()
	}
	strange, _ := drawSecret(t)
	w2 := &process{t: t, id: "w2", dir: t.TempDir()}
	w2.args = []string{"worker", "--id", "w2", "--dir", filepath.Join(w2.dir, "data"), "--server", strings.Join(c.urls(), ","), "--cluster-secret", strange}
	w2.start()
	c.eventually("a stranger is refused", func() bool { return strings.Contains(w2.log(), "it has another cluster secret") })
	w2.kill9()

	for node := range c.nodes {
		for _, path := range []string{"/metrics", "/v1/tokens", "/v1/audit", "/v1/cluster", "/v1/workers", "/v1/tasks", "/openapi.json"} {
			code, answer := c.insist(t.Context(), node, http.MethodGet, path, nil)
			if code != http.StatusOK {
				t.Errorf("%s: %d", path, code)
			}
			l.look(fmt.Sprintf("GET %s of n%d", path, node+1), answer)
		}
	}
	for _, p := range append(append([]*process{w2}, c.nodes...), c.workers...) {
		if p.running() {
			l.process(p.cmd.Process.Pid)
		}
		l.tree(p.dir)
	}
	out, err := leash.Command(binary, "token", "root", "--cluster-secret", secret).Output()
	if err != nil || !bytes.Contains(out, l.secrets["the root token"]) {
		t.Errorf("the search finds nothing: %v", err)
	}
	if l.looked < 50 {
		t.Errorf("only %d places were searched", l.looked)
	}
	t.Logf("%d places, %d secrets", l.looked, len(l.secrets))
}
