// Package check holds the web console against a real browser and real nodes. It is a module of its own, so that what drives the browser is none
// of what taskrt needs.
package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/taskrt/taskrt/internal/leash"
)

// patience bounds what a test waits for. It is reached only where something is broken.
const patience = 2 * time.Minute

// exe is the binary under test, work a directory of this run, browser the context of the browser.
var (
	exe, work string
	browser   context.Context
	cluster   *nodes
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	chromium := findBrowser()
	if chromium == "" {
		fmt.Println("skipped: needs chromium: apt-get install chromium")
		return 0
	}
	var err error
	if work, err = os.MkdirTemp("", "console-"); err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(work)
	if err := build(); err != nil {
		fmt.Println(err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(filepath.Join(work, "browser")), chromedp.IgnoreCertErrors, chromedp.WindowSize(1440, 900))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	var closeBrowser context.CancelFunc
	browser, closeBrowser = chromedp.NewContext(allocated, chromedp.WithErrorf(func(string, ...any) {})) // events that the library does not know are no errors
	defer closeBrowser()
	if err := chromedp.Run(browser); err != nil {
		fmt.Println("start the browser:", err)
		return 1
	}
	if cluster, err = startNodes(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer cluster.stop()
	if err := cluster.seed(); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

func findBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func build() error {
	exe = filepath.Join(work, "taskrt")
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", exe, "./cmd/taskrt")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build taskrt: %w: %s", err, out)
	}
	return nil
}

var root = filepath.Join("..", "..", "..")

// node is one process of a cluster.
type node struct {
	url  string
	cmd  *exec.Cmd
	args []string
}

// nodes are three processes of one cluster, which is open.
type nodes struct{ all []*node }

func startNodes() (*nodes, error) {
	n := &nodes{}
	var raft []string
	for range 3 {
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		raft = append(raft, addr)
	}
	for i, addr := range raft {
		http, err := freeAddress()
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("n%d", i+1)
		n.all = append(n.all, &node{url: "http://" + http, args: []string{
			"server", "--id", id, "--dir", filepath.Join(work, id), "--http", http, "--raft", addr, "--join", strings.Join(raft, ","), "--bootstrap-expect", "3", "--worker-slots", "4", "--session-ttl", "2s",
		}})
	}
	for _, one := range n.all {
		if err := one.start(); err != nil {
			return nil, err
		}
	}
	for _, one := range n.all {
		if err := one.ready(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *node) start() error {
	n.cmd = leash.Command(exe, n.args...)
	var log bytes.Buffer
	n.cmd.Stderr, n.cmd.Stdout = &log, &log
	return n.cmd.Start()
}

// kill ends a node without a warning.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// ready waits until the node serves.
func (n *node) ready() error {
	return eventually(func() error {
		r, err := http.Get(n.url + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", n.url, r.Status)
		}
		return nil
	})
}

// eventually tries until there is no error.
func eventually(try func() error) error {
	tick, end := time.NewTicker(100*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-end:
			return err
		}
	}
}

func (n *nodes) stop() {
	for _, one := range n.all {
		one.kill()
	}
}

// secure is a cluster that asks for tokens.
type secure struct {
	url, root string
	cmd       *exec.Cmd
}

// startSecure starts a `taskrt dev --secure` of one node.
func startSecure(t *testing.T) *secure {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dev")
	s := &secure{cmd: leash.Command(exe, "dev", "--nodes", "1", "--secure", "--http", "127.0.0.1:0", "--dir", dir)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	for lines := bufio.NewScanner(out); s.url == ""; {
		if !lines.Scan() {
			t.Fatal("taskrt dev --secure does not get ready")
		}
		if url, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			s.url = url
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*token*"))
	if len(files) != 1 {
		t.Fatalf("files with a token: %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s.root = strings.TrimSpace(string(b))
	return s
}

// do asks the API of an open node.
func (n *nodes) do(method, path, body string) ([]byte, error) {
	return ask(http.DefaultClient, n.all[0].url, "", method, path, "application/json", strings.NewReader(body))
}

func ask(c *http.Client, url, token, method, path, media string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequest(method, url+path, body)
	if err != nil {
		return nil, err
	}
	if method != http.MethodGet && method != http.MethodDelete { // neither takes a body
		req.Header.Set("Content-Type", media)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	r, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %s", method, path, r.StatusCode, b)
	}
	return b, err
}

// push uploads a guest of the repository.
func (n *nodes) push(name string) error {
	b, err := os.ReadFile(filepath.Join(root, "testdata", "wasm", name+".wasm"))
	if err != nil {
		return err
	}
	_, err = ask(http.DefaultClient, n.all[0].url, "", "POST", "/v1/modules?name="+name, "application/wasm", bytes.NewReader(b))
	if err != nil { // it has names of its own
		_, err = ask(http.DefaultClient, n.all[0].url, "", "POST", "/v1/modules", "application/wasm", bytes.NewReader(b))
	}
	return err
}

// hostile is text that wants to be something else.
const hostile = "\u202edrawkcab\u202c <img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u200bzero"

// seed puts tasks of all kinds into the cluster.
func (n *nodes) seed() error {
	for _, name := range []string{"wordcount", "fails", "trap", "steps", "polls", "word-count-op", "wait"} {
		if err := n.push(name); err != nil {
			return fmt.Errorf("push %s: %w", name, err)
		}
	}
	bodies := []string{
		`{"behavior":"wordcount","id":"counted","params":{"text":"a b a"},"labels":{"team":"search","run":"1"}}`,
		`{"behavior":"trap","id":"trapped"}`,
		`{"behavior":"wordcount","id":"later","delay":"10h","priority":7}`,
	}
	for _, b := range bodies {
		if _, err := n.do("POST", "/v1/tasks", b); err != nil {
			return err
		}
	}
	external := `{"kind":"external","lease":"1h","params_schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"Whom to greet"},"times":{"type":"integer","minimum":1,"maximum":5},"loud":{"type":"boolean"},"mood":{"enum":["calm","merry"]}}}}`
	if _, err := n.do("PUT", "/v1/behaviors/greet", external); err != nil {
		return err
	}
	if _, err := n.do("PUT", "/v1/behaviors/ext", `{"kind":"external","lease":"1h"}`); err != nil {
		return err
	}
	params, _ := json.Marshal(map[string]string{"text": hostile, "long": strings.Repeat("x", 64<<10-200)})
	if _, err := n.do("POST", "/v1/tasks", `{"behavior":"ext","id":"hostile","params":`+string(params)+`}`); err != nil {
		return err
	}
	return n.finish("hostile", `"error":{"code":"bad","message":`+quoted(hostile)+`,"retryable":false}`)
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// finish accepts the one task of the behavior ext that is due, and reports on it.
func (n *nodes) finish(id, outcome string) error {
	token, err := n.accept(id)
	if err != nil {
		return err
	}
	_, err = n.do("POST", "/v1/tasks/"+id+"/finish", fmt.Sprintf(`{"token":%d,%s}`, token, outcome))
	return err
}

// accept leases a task of the behavior ext for an hour.
func (n *nodes) accept(id string) (uint64, error) {
	b, err := n.do("POST", "/v1/behaviors/ext/accept", `{"worker":"outside","wait":"10s"}`)
	if err != nil {
		return 0, err
	}
	var got struct {
		Tasks []struct {
			ID    string
			Lease struct{ Token uint64 }
		}
	}
	if err := json.Unmarshal(b, &got); err != nil {
		return 0, err
	}
	if len(got.Tasks) != 1 || got.Tasks[0].ID != id {
		return 0, errors.New("another task was accepted: " + string(b))
	}
	return got.Tasks[0].Lease.Token, nil
}
