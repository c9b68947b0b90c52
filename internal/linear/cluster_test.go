package linear

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long the cluster may take to become ready on a loaded machine.
const patience = 5 * time.Minute

// cluster is three processes, one on each host of the lab.
type cluster struct {
	t           *testing.T
	lab         *lab
	nodes       [hosts]*process
	http        *http.Client
	knowsCopies bool // all builds refuse a directory that was copied

	reason string // why the test has failed, if fail was called

	round uint64 // how many rounds there were; the names of cells contain it, so no cluster meets a cell twice
}

type process struct {
	args []string
	dir  string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the current cmd has been waited for
}

// startCluster starts node i with binary i. With fewer binaries it begins again at the first.
func startCluster(t *testing.T, binaries ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, lab: newLab(t), http: newHTTPClient()}
	var raft []string
	for i := range hosts {
		raft = append(raft, c.lab.addr(i, 1))
	}
	for i := range hosts {
		p := &process{dir: t.TempDir()}
		p.args = []string{binaries[i%len(binaries)], "server", "--id", fmt.Sprintf("n%d", i+1), "--dir", filepath.Join(p.dir, "data"),
			"--http", c.lab.addr(i, 0), "--raft", raft[i], "--join", strings.Join(raft, ","), "--bootstrap-expect", "3",
			"--insecure", "--log-store", []string{"bolt", "wal"}[i%2]}
		c.nodes[i] = p
		c.start(i)
	}
	t.Cleanup(c.stop)
	c.waitReady()
	return c
}

func (c *cluster) start(i int) {
	p := c.nodes[i]
	logFile, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer logFile.Close()
	cmd := c.lab.command(i, p.args...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		c.t.Error(err)
		return
	}
	gone := make(chan struct{})
	p.cmd, p.gone = cmd, gone
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
}

func (c *cluster) signal(i int, s os.Signal) { _ = c.nodes[i].cmd.Process.Signal(s) }

// kill9 ends a node at once and waits until it is gone.
func (c *cluster) kill9(i int) {
	c.signal(i, syscall.SIGKILL)
	<-c.nodes[i].gone
}

// stop ends everything. It shows the logs of a failed test.
func (c *cluster) stop() {
	c.http.CloseIdleConnections()
	for i, p := range c.nodes {
		c.kill9(i)
		if c.t.Failed() {
			b, _ := os.ReadFile(filepath.Join(p.dir, "log"))
			c.t.Logf("log of n%d:\n%s", i+1, b[max(0, len(b)-8000):])
		}
	}
	if c.reason != "" {
		c.t.Logf("%s failed: %s", c.t.Name(), c.reason)
	}
}

// fail ends the test. stop says the reason again below the logs of the nodes, because the last lines are what a reader of a long output sees.
func (c *cluster) fail(format string, args ...any) {
	c.t.Helper()
	c.reason = fmt.Sprintf(format, args...)
	c.t.Fatal(c.reason)
}

func (c *cluster) waitReady() {
	c.t.Helper()
	c.eventually("every node is ready", c.ready)
}

// ready reports whether every node is.
func (c *cluster) ready() bool {
	for i := range hosts {
		if !c.isReady(i) {
			return false
		}
	}
	return true
}

// isReady reports whether a node is.
func (c *cluster) isReady(i int) bool {
	resp, err := c.http.Get("http://" + c.lab.addr(i, 0) + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// eventually polls a condition that only real processes can bring about.
func (c *cluster) eventually(what string, ok func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		for i, p := range c.nodes {
			select {
			case <-p.gone:
				c.fail("n%d has ended while waiting that %s", i+1, what)
			default:
			}
		}
		if time.Now().After(deadline) {
			c.fail("not within %v: %s", patience, what)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// leader returns the index of the leader that some node knows, or -1.
func (c *cluster) leader() int {
	for i := range hosts {
		if st := c.ask(i); len(st.Leader) == 2 {
			return int(st.Leader[1] - '1')
		}
	}
	return -1
}

// status is what a node says of the cluster.
type status struct {
	Leader string
	Nodes  []struct {
		ID        string
		Voter     bool
		Reachable bool
		Digest    string
	}
}

// ask asks a node how the cluster is; nothing: it does not say.
func (c *cluster) ask(i int) (st status) {
	resp, err := c.http.Get("http://" + c.lab.addr(i, 0) + "/v1/cluster")
	if err != nil {
		return status{}
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&st) != nil {
		return status{}
	}
	return st
}

// digestsAgree waits until all nodes have applied the same index with the same digest (SPEC C4).
func (c *cluster) digestsAgree() {
	c.t.Helper()
	c.eventually("digests agree", func() bool {
		st := c.ask(0)
		if len(st.Nodes) != hosts {
			return false
		}
		for _, n := range st.Nodes {
			if !n.Reachable || n.Digest == "" || n.Digest != st.Nodes[0].Digest {
				return false
			}
		}
		return true
	})
}
