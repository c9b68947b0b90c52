// Package trio runs a cluster of three processes of the binary on loopback, for programs that look at it from outside.
package trio

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

	"github.com/taskrt/taskrt/internal/leash"
)

// Size is how many nodes a cluster has.
const Size = 3

// Cluster is three processes, each started or not.
type Cluster struct {
	Binary string
	Env    []string // of the processes; nil: this process's own
	Nodes  [Size]*Node
}

// Node is one process of a Cluster.
type Node struct {
	ID, URL string
	Log     string   // file
	Args    []string // behind the binary
	Cmd     *exec.Cmd
	Exited  chan struct{} // closed when the present Cmd has been waited for; nil: it was never started
}

// New chooses ports, and directories and logs below dir. flags are added for every node to the flags that make it a member.
func New(binary, dir string, flags ...string) (*Cluster, error) {
	addrs, err := FreeAddresses(2 * Size)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Binary: binary}
	for i := range Size {
		id := fmt.Sprintf("n%d", i+1)
		c.Nodes[i] = &Node{ID: id, URL: "http://" + addrs[i], Log: filepath.Join(dir, id+".log"), Args: append([]string{
			"server", "--id", id, "--dir", filepath.Join(dir, id), "--http", addrs[i], "--raft", addrs[Size+i],
			"--join", strings.Join(addrs[Size:], ","), "--bootstrap-expect", fmt.Sprint(Size),
		}, flags...)}
	}
	return c, nil
}

// FreeAddresses finds ports that nobody uses now, outside of the range of ports for outgoing connections.
func FreeAddresses(n int) ([]string, error) {
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

// Start starts a node and waits for its ready line.
func (c *Cluster) Start(ctx context.Context, n *Node) error {
	ready, err := c.Launch(n)
	if err != nil {
		return err
	}
	select {
	case line := <-ready:
		if !strings.HasPrefix(line, "ready ") {
			return fmt.Errorf("%s said %q, not that it is ready: %s", n.ID, line, n.LastLines(1))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", n.ID, context.Cause(ctx))
	}
}

// Launch starts the process of a node or of a worker. The channel gives its first line, or "" if it ended without one.
func (c *Cluster) Launch(n *Node) (<-chan string, error) {
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n.Cmd = leash.Command(c.Binary, n.Args...)
	n.Cmd.Env, n.Cmd.Stderr = c.Env, log
	stdout, err := n.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", n.ID, err)
	}
	exited, ready := make(chan struct{}), make(chan string, 1)
	n.Exited = exited
	go func(cmd *exec.Cmd) {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- line
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
		close(exited)
	}(n.Cmd)
	return ready, nil
}

// Alive reports whether the process runs.
func (n *Node) Alive() bool {
	if n.Exited == nil {
		return false
	}
	select {
	case <-n.Exited:
		return false
	default:
		return true
	}
}

// Kill9 ends a process without a word to it, as a power cut would.
func (n *Node) Kill9() {
	_ = n.Cmd.Process.Signal(syscall.SIGKILL)
	<-n.Exited
}

// Kill ends whatever still runs.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		if n.Alive() {
			n.Kill9()
		}
	}
}

// Find returns a node by its ID.
func (c *Cluster) Find(id string) (*Node, error) {
	for _, n := range c.Nodes {
		if n.ID == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", id)
}

// URLs returns the URLs of all nodes.
func (c *Cluster) URLs() (urls []string) {
	for _, n := range c.Nodes {
		urls = append(urls, n.URL)
	}
	return urls
}

// LastLines returns the end of the node's log.
func (n *Node) LastLines(count int) string {
	b, err := os.ReadFile(n.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
