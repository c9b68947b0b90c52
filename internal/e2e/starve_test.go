package e2e

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

var starveFor = flag.Duration("starve", 20*time.Second, "how long servers have a tenth of a core (make starve FOR=10m)")

// TestStarvedServersLive: three servers have a tenth of a core together, while a guest computes on each of them. None ends
// itself, and afterwards everything runs (SPEC C10).
func TestStarvedServersLive(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker-slots", "2")
	c.push("runaway", "echo")
	var ids []string
	for i := range c.nodes {
		id := fmt.Sprint("spin-", i)
		ids = append(ids, id)
		c.submit(i, map[string]any{"behavior": "runaway", "id": id, "params": "loop"})
	}
	for _, id := range ids {
		c.runningOn(id)
	}
	before := c.term()
	var servers []int
	for _, p := range c.nodes {
		servers = append(servers, p.cmd.Process.Pid)
	}
	how, feed := starve(t, servers)
	c.stopped = true // the guests stood still while they executed
	for end := time.Now().Add(*starveFor); time.Now().Before(end); <-time.After(200 * time.Millisecond) {
		for _, p := range c.nodes {
			if !p.running() {
				t.Fatalf("%s has ended itself; log:\n%s", p.id, p.log())
			}
		}
	}
	feed()
	c.waitReady()
	t.Logf("%s: term %d, before %d", how, c.term(), before)
	for i, id := range ids {
		c.cancel(id)
		c.final(id)
		c.submit(i, map[string]any{"behavior": "echo", "id": fmt.Sprint("after-", i), "params": i})
	}
	for i := range ids {
		if got := c.final(fmt.Sprint("after-", i)); got.Status != "SUCCESS" {
			t.Errorf("a task afterwards: %+v", got)
		}
	}
}

// term returns the cluster's term.
func (c *cluster) term() (term uint64) {
	c.t.Helper()
	c.eventually("a term", func() bool {
		st, ok := c.status()
		for _, n := range st.Nodes {
			term = max(term, n.Term)
		}
		return ok && term > 0
	})
	return term
}

// TestStarvedDevLives: taskrt dev, all nodes of which are one process with a temporary directory, has a tenth of a core,
// and keeps what it has (SPEC C10).
func TestStarvedDevLives(t *testing.T) {
	t.Parallel()
	cmd := leash.Command(binary, "dev", "--nodes", "3", "--http", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	urls := make(chan string, 1)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if at := strings.Index(lines.Text(), "http://127.0.0.1:"); at >= 0 {
				select {
				case urls <- strings.Fields(lines.Text()[at:])[0]:
				default:
				}
			}
		}
		_ = cmd.Wait()
	}()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	}()
	url := strings.TrimSuffix(<-urls, ",")
	ready := func() bool {
		resp, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	await := func(what string) {
		t.Helper()
		for end := time.Now().Add(patience); !ready(); <-time.After(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	await("never ready")
	how, feed := starve(t, []int{cmd.Process.Pid})
	select {
	case <-ended:
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("it has ended itself:\n%s", text)
	case <-time.After(*starveFor):
	}
	feed()
	await("never ready again")
	t.Log(how)
}

// starve gives processes, and what they start, a tenth of a core together, until feed is called: by a group of the
// kernel's if this process may make one, else by stopping them for nine tenths of the time.
func starve(t *testing.T, servers []int) (how string, feed func()) {
	t.Helper()
	feed, err := starveByGroup(servers)
	how = "in a group with a quota"
	if err != nil {
		t.Logf("no group with a quota (%v): they are stopped instead", err)
		how, feed = "stopped for nine tenths of the time", starveByStops(servers)
	}
	feed = sync.OnceFunc(feed)
	t.Cleanup(feed)
	return how, feed
}

// cpuGroups is where groups of version 1 lie that limit CPU time.
const cpuGroups = "/sys/fs/cgroup/cpu"

func starveByGroup(servers []int) (feed func(), err error) {
	dir, err := os.MkdirTemp(cpuGroups, "taskrt-starve-")
	if err != nil {
		return nil, err
	}
	write := func(name, value string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600)
	}
	feed = func() {
		_ = write("cpu.cfs_quota_us", "-1")
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, pid := range strings.Fields(string(text)) {
			_ = os.WriteFile(filepath.Join(cpuGroups, "cgroup.procs"), []byte(pid), 0o600)
		}
		_ = os.Remove(dir)
	}
	err = errors.Join(write("cpu.cfs_period_us", "100000"), write("cpu.cfs_quota_us", "10000"))
	for _, server := range servers {
		for _, pid := range trio.Family(server) {
			if e := write("cgroup.procs", strconv.Itoa(pid)); !errors.Is(e, syscall.ESRCH) && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	if err != nil {
		feed()
	}
	return feed, err
}

func starveByStops(servers []int) (feed func()) {
	signal := func(s syscall.Signal) {
		for _, server := range servers {
			for _, pid := range trio.Family(server) {
				_ = syscall.Kill(pid, s)
			}
		}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			signal(syscall.SIGSTOP)
			<-time.After(90 * time.Millisecond)
			signal(syscall.SIGCONT)
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}
