package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/api"
)

// size is how many nodes a cluster has.
const size = 3

// startTime is how long it may take to become ready.
const startTime = time.Minute

// cluster is three processes.
type cluster struct {
	binary string
	dir    string
	nodes  [size]*process
}

type process struct {
	id, url string
	args    []string
	log     string // file
	cmd     *exec.Cmd
	exited  chan struct{}
}

// startCluster starts three nodes in a directory of their own and waits until each is ready to serve. logged: they write down when
// guests begin, which costs something.
func startCluster(ctx context.Context, binary string, slots int, logged bool) (*cluster, error) {
	dir, err := os.MkdirTemp("", "taskrt-bench-")
	if err != nil {
		return nil, err
	}
	c := &cluster{binary: binary, dir: dir}
	addrs, err := freeAddresses(2 * size)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for i := range size {
		id := fmt.Sprintf("n%d", i+1)
		c.nodes[i] = &process{id: id, url: "http://" + addrs[i], log: filepath.Join(dir, id+".log"), args: []string{
			"server", "--id", id, "--dir", filepath.Join(dir, id), "--http", addrs[i], "--raft", addrs[size+i],
			"--join", strings.Join(addrs[size:], ","), "--bootstrap-expect", fmt.Sprint(size), "--maintenance-every", "0s",
		}}
		if logged {
			c.nodes[i].args = append(c.nodes[i].args, "--run-log", c.runLog(i))
		}
		if slots > 0 {
			c.nodes[i].args = append(c.nodes[i].args, "--worker-slots", fmt.Sprint(slots))
		}
	}
	for _, p := range c.nodes {
		if err := c.start(ctx, p); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// runLog is where a node writes down when guests begin.
func (c *cluster) runLog(i int) string { return filepath.Join(c.dir, fmt.Sprintf("runs%d", i+1)) }

func (c *cluster) urls() (urls []string) {
	for _, p := range c.nodes {
		urls = append(urls, p.url)
	}
	return urls
}

// start starts a node and waits until it serves.
func (c *cluster) start(ctx context.Context, p *process) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(c.binary, p.args...)
	p.cmd.Env = environment()
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttributes()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.id, err)
	}
	exited, ready := make(chan struct{}), make(chan string, 1)
	p.exited = exited
	go func(cmd *exec.Cmd) {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- line
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
		close(exited)
	}(p.cmd)
	select {
	case line := <-ready:
		if !strings.HasPrefix(line, "ready ") {
			return fmt.Errorf("%s did not start: %s", p.id, lastLine(p.log))
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// environment is this process's, without what would be taken for flags of a node.
func environment() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKRT_") {
			env = append(env, v)
		}
	}
	return env
}

func lastLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// ready waits until every node is.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the cluster was not ready within %v", startTime))
	defer cancel()
	for _, p := range c.nodes {
		client, err := api.NewClient(api.ClientConfig{URLs: []string{p.url}, RetryFor: time.Second, AttemptTimeout: 2 * time.Second})
		if err != nil {
			return err
		}
		defer client.Close()
		for client.Ready(ctx) != nil {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// kill9 ends a node without a word, as a power cut would.
func (p *process) kill9() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

func (c *cluster) node(id string) (*process, error) {
	for _, p := range c.nodes {
		if p.id == id {
			return p, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", id)
}

// stop ends all and removes what they kept.
func (c *cluster) stop() error {
	for _, p := range c.nodes {
		if p != nil && p.exited != nil {
			p.kill9()
		}
	}
	return os.RemoveAll(c.dir)
}

// freeAddresses finds ports that nobody uses now, outside of the range that outgoing connections take.
func freeAddresses(n int) ([]string, error) {
	var addrs []string
	for range 1000 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 21_000+rand.IntN(11_000)))
		if err != nil {
			continue
		}
		defer ln.Close() // not before all are found, so that they differ
		if addrs = append(addrs, ln.Addr().String()); len(addrs) == n {
			return addrs, nil
		}
	}
	return nil, errors.New("no free ports on loopback")
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
