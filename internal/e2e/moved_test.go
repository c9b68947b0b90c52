package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// nomads is a cluster whose nodes live at addresses of the loopback network, and find each other by one name that the test leads elsewhere.
type nomads struct {
	*cluster
	hosts string // the file that they have for /etc/hosts
	port  string // of all nodes, for each other
	urls  atomic.Pointer[[]string]

	mu    sync.Mutex
	acked map[string]task // what was answered, by the key of idempotency
}

// unshare begins a command in a mount namespace of its own.
func unshare() []string {
	if os.Geteuid() == 0 {
		return []string{"unshare", "--mount"}
	}
	return []string{"unshare", "--map-root-user", "--mount"}
}

// newNomads makes three nodes, which are not started yet.
func newNomads(t *testing.T) *nomads {
	t.Helper()
	dir := t.TempDir()
	c := &nomads{cluster: &cluster{t: t, http: &http.Client{Timeout: patience}}, hosts: filepath.Join(dir, "hosts"), acked: map[string]task{}}
	c.lead(1)
	script := filepath.Join(dir, "taskrt")
	text := fmt.Sprintf("#!/bin/bash\nexec %s bash -c 'mount --bind %q /etc/hosts && exec %q \"$@\"' taskrt \"$@\"\n", strings.Join(unshare(), " "), c.hosts, binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // a script is executable
		t.Fatal(err)
	}
	if out, err := leash.Command(script, "version").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: cannot give a process its own /etc/hosts: %v: %s", err, out)
	}
	secret, _ := drawSecret(t)
	c.trust(authorities(t, secret))
	c.prove(rootToken(t, secret))
	_, c.port, _ = strings.Cut(freeAddr(t), ":")
	for i := range 3 {
		p := &process{t: t, id: fmt.Sprintf("n%d", i+1), exe: script, dir: t.TempDir()}
		p.shareCode()
		p.args = []string{"--cluster-secret", secret}
		c.nodes = append(c.nodes, p)
	}
	return c
}

// at is the address of a node in its n-th home.
func at(n, node int) string { return fmt.Sprintf("127.%d.0.%d", 10+n, node+1) }

// lead lets the name lead to the n-th homes.
func (c *nomads) lead(n int) {
	c.t.Helper()
	text := "127.0.0.1 localhost\n"
	for node := range 3 {
		text += at(n, node) + " nodes.example\n"
	}
	if err := os.WriteFile(c.hosts, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// settle starts all nodes in their n-th homes.
func (c *nomads) settle(n int) {
	c.t.Helper()
	var urls []string
	for i, p := range c.nodes {
		_, web, _ := strings.Cut(freeAddr(c.t), ":")
		p.http = at(n, i) + ":" + web
		p.args = []string{
			"server", "--id", p.id, "--dir", filepath.Join(p.dir, "data"), "--http", p.http, "--raft", at(n, i) + ":" + c.port,
			"--join", "dns:nodes.example:" + c.port, "--bootstrap-expect", "3", "--worker-slots", "8", "--log-store", *logStore, "--cluster-secret", p.args[len(p.args)-1],
		}
		p.start()
		urls = append(urls, c.url(p))
	}
	c.urls.Store(&urls)
}

// submit submits the n-th body through any node until one of them takes the task, under a key of idempotency instead of an ID: whoever takes it
// twice makes two tasks of it.
func (c *nomads) submit(n int, body string) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		return nil, err
	}
	key := fmt.Sprint(fields["id"])
	delete(fields, "id")
	again, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	for ; ; n++ {
		req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, (*c.urls.Load())[n%3]+"/v1/tasks?wait=1m", bytes.NewReader(again))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		if resp, err := c.http.Do(req); err == nil {
			data, unread := io.ReadAll(resp.Body)
			resp.Body.Close()
			var answer struct{ Task task }
			switch code := resp.StatusCode; {
			case unread != nil || code == http.StatusServiceUnavailable || code == http.StatusBadGateway:
			case code != http.StatusCreated && code != http.StatusOK:
				return nil, fmt.Errorf("%d: %s", code, data)
			default:
				err := json.Unmarshal(data, &answer)
				c.mu.Lock()
				c.acked[key] = answer.Task
				c.mu.Unlock()
				return data, err
			}
		}
		<-time.After(20 * time.Millisecond) // nobody is there, perhaps
	}
}

// isWhole demands that what was acknowledged is there, once, and that what had ended has not run again.
func (c *nomads) isWhole() {
	c.t.Helper()
	for key, had := range c.acked {
		got := c.final(had.ID)
		if got.Status != "SUCCESS" || had.Final && (got.Rev != had.Rev || got.Attempt != had.Attempt) {
			c.t.Errorf("%s was answered as %+v, and is %+v", key, had, got)
		}
	}
	n := 0
	for page := ""; ; {
		var list struct {
			Tasks []task
			Next  string `json:"cursor"`
		}
		code, data := c.insist(c.t.Context(), 0, http.MethodGet, "/v1/tasks?behavior=wordcount&limit=1000"+page, nil)
		if err := json.Unmarshal(data, &list); err != nil || code != http.StatusOK {
			c.t.Fatalf("%d %s %v", code, data, err)
		}
		if n += len(list.Tasks); list.Next == "" {
			break
		}
		page = "&cursor=" + list.Next
	}
	if n != len(c.acked) {
		c.t.Errorf("there are %d tasks, and %d were acknowledged", n, len(c.acked))
	}
}

// TestAllMoveUnderLoad: all nodes are killed under load and come back at other addresses, for each other and for callers, before the name by which
// they find each other leads there. When it does, the cluster goes on, though none of them lives where any other has known it. Twice. Callers lose
// nothing, and nothing is there twice (SPEC C1, C2).
func TestAllMoveUnderLoad(t *testing.T) {
	t.Parallel()
	c := newNomads(t)
	c.settle(1)
	t.Cleanup(c.stop)
	c.waitReady()
	c.pushAs("wordcount", `{"schema":1,"behaviors":[{"name":"wordcount","id":{"strategy":"random"}}]}`)
	load := startLoadBy(t, c.cluster, c.submit)
	load.progress()
	for home := 2; home <= 3; home++ {
		for _, p := range c.nodes {
			p.signal(os.Kill)
		}
		for _, p := range c.nodes {
			p.wait()
		}
		c.settle(home)
		for i, p := range c.nodes {
			c.eventually(p.id+" answers at its new address", func() bool {
				code, _ := c.do(t.Context(), i, http.MethodGet, "/healthz", nil)
				return code == http.StatusOK
			})
		}
		if st, ok := c.status(); ok {
			t.Errorf("%s leads, and the name leads elsewhere", st.Leader)
		}
		c.lead(home)
		c.waitReady()
		load.progress()
	}
	load.stop()
	load.allDone()
	c.isWhole()
	c.digestsAgree()
	out := c.taskrt(binary, "cluster", "status")
	for i := range c.nodes {
		if want := at(3, i) + ":" + c.port; !strings.Contains(out, want) {
			t.Errorf("the status does not name %s:\n%s", want, out)
		}
	}
}
