package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sessionTTL is shorter than the default of 10 s, so that the demo need not wait that long for a dead worker's tasks.
const sessionTTL = "5s"

// cluster is three taskrt processes.
type cluster struct {
	binary string
	nodes  []*process
}

// process is one node, started or not.
type process struct {
	id     string
	args   []string
	url    string
	log    string // file
	cmd    *exec.Cmd
	exited chan struct{}
}

// newCluster chooses ports and directories.
func newCluster(binary, dir string) (*cluster, error) {
	const n = 3
	addrs, err := freeAddresses(2 * n)
	if err != nil {
		return nil, err
	}
	c := &cluster{binary: binary}
	for i := range n {
		id := fmt.Sprintf("n%d", i+1)
		c.nodes = append(c.nodes, &process{
			id: id, url: "http://" + addrs[i], log: filepath.Join(dir, id+".log"),
			args: []string{
				"server", "--id", id, "--dir", filepath.Join(dir, id), "--http", addrs[i], "--raft", addrs[n+i],
				"--join", strings.Join(addrs[n:], ","), "--bootstrap-expect", "3", "--worker-slots", "4", "--session-ttl", sessionTTL,
			},
		})
	}
	return c, nil
}

// freeAddresses finds ports that nobody uses now.
func freeAddresses(n int) ([]string, error) {
	var addrs []string
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close() // not before all are found, so that they differ
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

// start starts a node and waits for its ready line.
func (c *cluster) start(ctx context.Context, p *process) error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(c.binary, p.args...)
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttributes()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.id, err)
	}
	exited := make(chan struct{})
	p.exited = exited
	ready := make(chan string, 1)
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
			return fmt.Errorf("%s said %q, not that it is ready", p.id, line)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", p.id, context.Cause(ctx))
	}
}

// alive reports whether the process runs.
func (p *process) alive() bool {
	if p.exited == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// kill9 ends a process without a word, as a power cut would.
func (p *process) kill9() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// kill ends whatever still runs.
func (c *cluster) kill() {
	for _, p := range c.nodes {
		if p.alive() {
			p.kill9()
		}
	}
}

// stop asks all nodes to end and checks that they do so cleanly.
func (c *cluster) stop(ctx context.Context) error {
	for _, p := range c.nodes {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop %s: %w", p.id, err)
		}
	}
	for _, p := range c.nodes {
		select {
		case <-p.exited:
		case <-ctx.Done():
			return fmt.Errorf("%s does not stop: %w", p.id, context.Cause(ctx))
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("%s stopped with exit code %d", p.id, code)
		}
	}
	return nil
}

// find returns the process of a node.
func (c *cluster) find(id string) (*process, error) {
	for _, p := range c.nodes {
		if p.id == id {
			return p, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", id)
}

// urls returns the URLs of all nodes, for --server.
func (c *cluster) urls() string {
	var urls []string
	for _, p := range c.nodes {
		urls = append(urls, p.url)
	}
	return strings.Join(urls, ",")
}

// showLogs prints the end of every node's log.
func (c *cluster) showLogs() {
	for _, p := range c.nodes {
		b, err := os.ReadFile(p.log)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		fmt.Fprintf(os.Stderr, "--- the last lines of %s\n%s\n", p.id, strings.Join(lines[max(0, len(lines)-25):], "\n"))
	}
}

// cli runs one taskrt command and returns its standard output.
func (c *cluster) cli(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.binary, append(args, "--server", c.urls())...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("taskrt %s: exit code %d: %s", strings.Join(args, " "), exit.ExitCode(), strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), err
}

// eventually asks until the answer is yes. The error of the last question is the reason if it never is.
func eventually(ctx context.Context, what string, yes func() (bool, error)) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		ok, err := yes()
		if ok {
			return nil
		}
		last = err
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), last))
		}
	}
}
