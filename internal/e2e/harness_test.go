// Package e2e tests taskrt as its users meet it: real processes of the real binary, on loopback, with fsync, killed with
// SIGKILL and stopped with SIGSTOP. Nothing here looks inside, but into a corpus: the tests use only HTTP and the command line.
package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
)

// patience is how long a condition may take on a loaded machine before the test gives up on it. It is not a claim about
// speed: those are benchmarks.
const patience = 5 * time.Minute

var binary string

var logStore = flag.String("log-store", "bolt", "format of the nodes' logs in all tests")

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // these tests mostly wait: more of them at once than there are cores; a flag goes first
	flag.Parse()
	if testing.Short() {
		fmt.Println("e2e: skipped by -short: needs real processes")
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "taskrt-e2e-bin")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "taskrt")
	build := leash.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", binary, "github.com/taskrt/taskrt/cmd/taskrt")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("e2e: building taskrt: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// wasm is the path of a committed guest.
func wasm(name string) string { return filepath.Join("..", "..", "testdata", "wasm", name+".wasm") }

// process is one taskrt process and what is needed to start it again.
type process struct {
	t    testing.TB
	id   string
	exe  string // "": the build under test
	args []string
	dir  string
	http string
	env  []string // beside the test's own
	cmd  *exec.Cmd
	gone chan struct{} // closed when the current cmd has been waited for

	deaths []int64 // CLOCK_BOOTTIME at which it was seen dead
}

// shareCode saves it from compiling what another process has.
func (p *process) shareCode() {
	p.t.Helper()
	if err := built.ShareCode(filepath.Join(p.dir, "data")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) start() {
	p.t.Helper()
	logFile, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cmd = leash.Command(cmp.Or(p.exe, binary), append(p.args[:len(p.args):len(p.args)], "--run-log", filepath.Join(p.dir, "runs"))...)
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	p.cmd.Env = append(os.Environ(), p.env...)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	logFile.Close()
	gone := make(chan struct{})
	p.gone = gone
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(gone)
	}(p.cmd)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v: %v", p.id, s, err)
	}
}

// kill9 ends the process at once and waits until it is gone.
func (p *process) kill9() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wait()
}

// wait waits until the process is gone.
func (p *process) wait() {
	<-p.gone
	p.deaths = append(p.deaths, boottime(p.t))
}

// terminate asks for a clean end and demands it.
func (p *process) terminate() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.gone:
		p.wait()
	case <-time.After(patience):
		p.t.Fatalf("%s does not end after SIGTERM; log:\n%s", p.id, p.log())
	}
}

func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

func (p *process) log() string {
	b, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	if len(b) > 20_000 {
		b = b[len(b)-20_000:]
	}
	return string(b)
}

// cluster is three server processes, and worker processes if a test adds some.
type cluster struct {
	t       testing.TB
	nodes   []*process
	workers []*process
	http    *http.Client

	// ca is the file of certificates by which clients trust the nodes; "": the nodes speak http.
	ca string

	// token is the one by which clients prove themselves; nil: the cluster is open.
	token atomic.Pointer[string]

	// workerEnv are additions to the environment of workers that are added.
	workerEnv []string

	// ownCode: workers that are added compile their guests themselves, instead of sharing code with all other tests.
	ownCode bool

	// stopped: a process was stopped with SIGSTOP while a guest executed. Its stamps then span the time in which it stood
	// still, so they say nothing about overlaps.
	stopped bool
}

// newCluster starts three nodes and waits until they have a leader. Extra flags go to every server, with its ID in place of {id}.
func newCluster(t testing.TB, extra ...string) *cluster {
	t.Helper()
	return newClusterIn(t, nil, extra...)
}

// newClusterIn is newCluster with additions to the servers' environment.
func newClusterIn(t testing.TB, env []string, extra ...string) *cluster {
	t.Helper()
	return newClusterWith(t, *logStore, env, extra...)
}

// newClusterWith is newClusterIn with logs of this format.
func newClusterWith(t testing.TB, logStore string, env []string, extra ...string) *cluster {
	t.Helper()
	return newClusterOf(t, "", logStore, env, extra...)
}

// newClusterOf is newClusterWith of nodes with this binary; "": the build under test.
func newClusterOf(t testing.TB, exe, logStore string, env []string, extra ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, http: &http.Client{Timeout: patience}}
	raft := []string{freeAddr(t), freeAddr(t), freeAddr(t)}
	if i := slices.Index(extra, "--cluster-secret"); i >= 0 {
		c.trust(authorities(t, extra[i+1]))
		c.prove(rootToken(t, extra[i+1]))
	}
	if i := slices.Index(extra, "--tls-cert"); i >= 0 { // its authority lies beside it
		c.trust(filepath.Join(filepath.Dir(extra[i+1]), "ca.pem"))
	}
	for i := range 3 {
		id := fmt.Sprintf("n%d", i+1)
		p := &process{t: t, id: id, exe: exe, dir: t.TempDir(), http: freeAddr(t), env: env}
		p.shareCode()
		p.args = append([]string{"server", "--id", id, "--dir", filepath.Join(p.dir, "data"), "--http", p.http, "--raft", raft[i],
			"--join", strings.Join(raft, ","), "--bootstrap-expect", "3", "--log-store", logStore}, forNode(id, extra)...)
		if !slices.Contains(extra, "--worker-slots") {
			p.args = append(p.args, "--worker-slots", "8")
		}
		c.nodes = append(c.nodes, p)
		p.start()
	}
	t.Cleanup(c.stop)
	c.waitReady()
	return c
}

func forNode(id string, flags []string) (own []string) {
	for _, f := range flags {
		own = append(own, strings.ReplaceAll(f, "{id}", id))
	}
	return own
}

// addWorker starts a separate worker process, with extra flags, and waits until the cluster lists it.
func (c *cluster) addWorker(id string, slots int, extra ...string) *process {
	c.t.Helper()
	return c.addWorkerOf("", id, slots, extra...)
}

// addWorkerOf is addWorker with this binary; "": the build under test.
func (c *cluster) addWorkerOf(exe, id string, slots int, extra ...string) *process {
	c.t.Helper()
	p := &process{t: c.t, id: id, exe: exe, dir: c.t.TempDir(), env: c.workerEnv}
	if !c.ownCode {
		p.shareCode()
	}
	p.args = []string{"worker", "--id", id, "--dir", filepath.Join(p.dir, "data"), "--server", strings.Join(c.urls(), ","), "--worker-slots", fmt.Sprint(slots)}
	p.args = append(p.args, extra...)
	p.start()
	c.workers = append(c.workers, p)
	c.eventually("worker "+id+" is listed", func() bool { return c.hasWorker(id) })
	return p
}

func (c *cluster) hasWorker(id string) bool {
	st, ok := c.status()
	if !ok {
		return false
	}
	for _, w := range st.Workers {
		if w.ID == id {
			return true
		}
	}
	return false
}

// stop kills what is left. It shows the logs of a failed test.
func (c *cluster) stop() {
	for _, p := range append(append([]*process{}, c.workers...), c.nodes...) {
		if p.running() {
			_ = p.cmd.Process.Kill()
			p.wait()
		}
		if c.t.Failed() {
			c.t.Logf("log of %s:\n%s", p.id, p.log())
		}
	}
	if !c.stopped {
		c.t.Logf("%d executions, no two of one task at the same moment", c.checkNoOverlap())
	}
}

func (c *cluster) url(p *process) string {
	if c.ca != "" {
		return "https://" + p.http
	}
	return "http://" + p.http
}

// trust makes c.http, and the commands, trust the certificates in a file.
func (c *cluster) trust(ca string) {
	c.t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		c.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		c.t.Fatalf("%s holds no certificate", ca)
	}
	c.ca, c.http.Transport = ca, &proving{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 16}, c}
	c.t.Cleanup(c.http.CloseIdleConnections)
}

// prove makes c.http, and the commands, send a token.
func (c *cluster) prove(token string) { c.token.Store(&token) }

// draw makes a token with these roles in the namespaces of a pattern, and returns it.
func (c *cluster) draw(name, namespaces string, roles ...string) string {
	c.t.Helper()
	code, data := c.insist(c.t.Context(), 0, http.MethodPost, "/v1/tokens", map[string]any{"name": name, "roles": roles, "namespaces": []string{namespaces}})
	var made struct{ Credential string }
	if err := json.Unmarshal(data, &made); code != http.StatusCreated || err != nil || made.Credential == "" {
		c.t.Fatalf("token %s: %d, %v", name, code, err)
	}
	c.known(made.Credential)
	return made.Credential
}

// known waits until every node knows a token: one that is a moment behind the others takes a new token for none.
func (c *cluster) known(credential string) {
	c.t.Helper()
	for _, p := range c.nodes {
		c.eventually(p.id+" knows a new token", func() bool {
			req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url(p)+"/v1/self", http.NoBody)
			if err != nil {
				c.t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+credential)
			res, err := c.http.Do(req)
			if err != nil {
				return false
			}
			res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
	}
}

// proving sends the cluster's token with every request.
type proving struct {
	*http.Transport
	c *cluster
}

// RoundTrip implements http.RoundTripper.
func (p *proving) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := p.c.token.Load(); token != nil && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+*token)
	}
	return p.Transport.RoundTrip(r)
}

func (c *cluster) urls() []string {
	var out []string
	for _, p := range c.nodes {
		out = append(out, c.url(p))
	}
	return out
}

func (c *cluster) waitReady() {
	c.t.Helper()
	c.eventually("every node is ready", func() bool {
		for _, p := range c.nodes {
			if !p.running() {
				c.t.Fatalf("%s has ended; log:\n%s", p.id, p.log())
			}
			resp, err := c.http.Get(c.url(p) + "/readyz")
			if err != nil {
				return false
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				return false
			}
		}
		return true
	})
}

// eventually polls a condition that only real processes can bring about.
func (c *cluster) eventually(what string, ok func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			c.t.Fatalf("not within %v: %s", patience, what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// task is the part of the record that the tests look at.
type task struct {
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Final     bool            `json:"final"`
	Result    json.RawMessage `json:"result"`
	Error     *problem        `json:"error"`
	Attempt   int64           `json:"attempt"`
	Failures  int64           `json:"failures"`
	LostCount int64           `json:"lost_count"`
	Rev       uint64          `json:"rev"`
	Progress  json.RawMessage `json:"progress"`
	Lease     *struct {
		Token  uint64 `json:"token"`
		Worker string `json:"worker"`
		Node   string `json:"node"`
	} `json:"lease"`
	History []struct {
		Attempt int64  `json:"attempt"`
		Worker  string `json:"worker"`
		Outcome string `json:"outcome"`
	} `json:"history"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
	Field   string `json:"field"`
}

type status struct {
	Leader string `json:"leader"`
	Nodes  []struct {
		ID           string `json:"id"`
		Role         string `json:"role"`
		Reachable    bool   `json:"reachable"`
		Term         uint64 `json:"term"`
		AppliedIndex uint64 `json:"applied_index"`
		Digest       string `json:"digest"`
	} `json:"nodes"`
	Workers []struct {
		ID      string `json:"id"`
		Running int64  `json:"running"`
	} `json:"workers"`
}

// do sends one request to one node. It returns the status, 0 if there was no answer, and the body.
func (c *cluster) do(ctx context.Context, node int, method, path string, body any) (int, []byte) {
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Error(err)
			return 0, nil
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url(c.nodes[node])+path, r)
	if err != nil {
		c.t.Error(err)
		return 0, nil
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, data
}

func (c *cluster) status() (status, bool) {
	for i := range c.nodes {
		if !c.nodes[i].running() {
			continue
		}
		code, data := c.do(c.t.Context(), i, "GET", "/v1/cluster", nil)
		var st status
		if code == http.StatusOK && json.Unmarshal(data, &st) == nil && st.Leader != "" {
			return st, true
		}
	}
	return status{}, false
}

// leader waits for a leader that runs, and returns its place among the nodes.
func (c *cluster) leader() int {
	c.t.Helper()
	at := -1
	c.eventually("there is a leader", func() bool {
		st, ok := c.status()
		if !ok {
			return false
		}
		for i, p := range c.nodes {
			if p.id == st.Leader && p.running() {
				at = i
			}
		}
		return at >= 0
	})
	return at
}

// command is a command against the cluster's nodes.
func (c *cluster) command(exe string, args ...string) *exec.Cmd {
	cmd := leash.Command(exe, append(args, "--server", strings.Join(c.urls(), ","))...)
	if c.ca != "" {
		cmd.Args = append(cmd.Args, "--ca", c.ca)
	}
	if token := c.token.Load(); token != nil {
		cmd.Env = append(os.Environ(), "TASKRT_TOKEN="+*token)
	}
	return cmd
}

// taskrt runs a command against the cluster's nodes, and demands that it succeeds.
func (c *cluster) taskrt(exe string, args ...string) string {
	c.t.Helper()
	cmd := c.command(exe, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("taskrt %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// push uploads a committed guest through a node.
func (c *cluster) push(names ...string) {
	c.t.Helper()
	for _, name := range names {
		c.taskrt(binary, "push", wasm(name))
	}
}

// pushAs uploads a guest with this text as its manifest.
func (c *cluster) pushAs(guest, manifest string) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), guest+".json")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.taskrt(binary, "push", wasm(guest), "--manifest", file)
}

// insist is do, again and again while the answer says that nothing was done because there is no leader, or because the log does not
// move: a machine that stands still for seconds brings both about.
func (c *cluster) insist(ctx context.Context, node int, method, path string, body any) (code int, data []byte) {
	c.t.Helper()
	c.eventually("the cluster takes "+path, func() bool {
		code, data = c.do(ctx, node, method, path, body)
		var p problem
		nothingDone := code == http.StatusServiceUnavailable && json.Unmarshal(data, &p) == nil && (p.Code == "no_leader" || p.Code == "not_ready")
		return !nothingDone
	})
	return code, data
}

// submit sends one submit and demands that it be accepted.
func (c *cluster) submit(node int, body map[string]any) task {
	c.t.Helper()
	code, data := c.insist(c.t.Context(), node, "POST", "/v1/tasks", body)
	if code != http.StatusOK && code != http.StatusCreated {
		c.t.Fatalf("submit %v: %d %s", body, code, data)
	}
	var r struct{ Task task }
	if err := json.Unmarshal(data, &r); err != nil {
		c.t.Fatal(err)
	}
	return r.Task
}

// get reads a task through a node that answers; it retries while the cluster has no leader.
func (c *cluster) get(id, query string) task {
	c.t.Helper()
	var got task
	c.eventually("task "+id+" can be read", func() bool {
		for i, p := range c.nodes {
			if !p.running() {
				continue
			}
			code, data := c.do(c.t.Context(), i, "GET", "/v1/tasks/"+id+query, nil)
			if code == http.StatusNotFound {
				c.t.Fatalf("task %s: %s", id, data)
			}
			var r struct{ Task task }
			if code == http.StatusOK && json.Unmarshal(data, &r) == nil {
				got = r.Task
				return true
			}
		}
		return false
	})
	return got
}

// runningOn waits until the task runs and returns the worker.
func (c *cluster) runningOn(id string) string {
	c.t.Helper()
	worker := ""
	c.eventually("task "+id+" runs", func() bool {
		got := c.get(id, "")
		if got.Final {
			c.t.Fatalf("task %s is final already: %+v", id, got)
		}
		if got.Lease != nil {
			worker = got.Lease.Worker
		}
		return worker != ""
	})
	return worker
}

// final waits for the end of a task.
func (c *cluster) final(id string) task {
	c.t.Helper()
	var got task
	c.eventually("task "+id+" is final", func() bool {
		got = c.get(id, "?wait=5s")
		return got.Final
	})
	return got
}

func (c *cluster) process(id string) *process {
	for _, p := range append(append([]*process{}, c.nodes...), c.workers...) {
		if p.id == id {
			return p
		}
	}
	c.t.Fatalf("no process %q", id)
	return nil
}

// digestsAgree waits until all nodes have applied the same index with the same digest.
func (c *cluster) digestsAgree() {
	c.t.Helper()
	c.eventually("digests agree", func() bool {
		st, ok := c.status()
		if !ok || len(st.Nodes) != 3 {
			return false
		}
		for _, n := range st.Nodes {
			if !n.Reachable || n.Digest != st.Nodes[0].Digest {
				return false
			}
		}
		return true
	})
}

// freeAddr finds a loopback port outside the range that the kernel gives to outgoing connections, so that no other
// connection takes it while its node is dead; and that no other test of this process has been given, nor one of
// internal/linear, whose ports are above.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range 200 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+lastPort.Add(1)%11_000)
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// lastPort begins anywhere: another run of these tests may be under way.
var lastPort = func() *atomic.Int64 {
	var p atomic.Int64
	p.Store(rand.Int64N(11_000))
	return &p
}()
