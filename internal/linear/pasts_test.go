package linear

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/leash"
)

// A node never comes back as its own past (SPEC C7): a server does not start on a copy of a directory, whatever happens around it.

// copied is the exit code of a server whose directory is a copy.
const copied = 7

// copyOf copies the directory of a node, which may run, by the program that an operator would take.
func (c *cluster) copyOf(i int) (dir string) {
	dir = filepath.Join(c.nodes[i].dir, "copy")
	c.remove(dir)
	// What vanishes while it is copied is left out.
	_ = c.lab.command(i, "cp", "-a", filepath.Join(c.nodes[i].dir, "data"), dir).Run()
	return dir
}

// refusesCopy demands that the server of node i ends at once on a directory, at another address.
func (c *cluster) refusesCopy(i int, dir string) {
	var args []string
	for k, a := range c.nodes[i].args {
		switch {
		case k > 0 && c.nodes[i].args[k-1] == "--dir":
			a = dir
		case k > 0 && (c.nodes[i].args[k-1] == "--http" || c.nodes[i].args[k-1] == "--raft"):
			a = "127.0.0.1:0"
		}
		args = append(args, a)
	}
	cmd := c.lab.command(i, args...)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != copied || !strings.Contains(string(out), "the directory is a copy") {
		c.t.Errorf("n%d on a copy ends with code %d: %s", i+1, code, out)
	}
}

// copyBeside starts a copy of a node that runs.
func (c *cluster) copyBeside(i int) { c.refusesCopy(i, c.copyOf(i)) }

// restore puts a copy of a directory into its place, after the node has gone on for a while. Then the node starts with its directory, or, if that
// is lost, with an empty one: of two disks at a time only one is, so it waits until the node has everything.
func (c *cluster) restore(ctx context.Context, i int, age time.Duration, lost bool) {
	p := c.nodes[i]
	data, older, now := filepath.Join(p.dir, "data"), c.copyOf(i), filepath.Join(p.dir, "now")
	idle.For(ctx, age)
	c.kill9(i)
	c.rename(data, now)
	c.rename(older, data)
	c.refusesCopy(i, data)
	if !lost {
		c.remove(data)
		c.rename(now, data)
		c.start(i)
		return
	}
	c.remove(now)
	p.args = append(p.args, "--as-new-disk")
	c.start(i)
	p.args = p.args[:len(p.args)-1]
	c.becomes("a node with an empty disk votes", func() bool { return c.votes(i) })
	c.remove(filepath.Join(data, "raft.former"))
}

// removedCode is the exit code of a server whose node was removed.
const removedCode = 8

// replace removes a member for good (SPEC C2). Its process ends, and says why. Then an empty directory comes under the same ID, and votes when it
// is approved.
func (c *cluster) replace(i int) {
	p := c.nodes[i]
	c.operate("remove", i)
	<-p.gone
	if code := p.cmd.ProcessState.ExitCode(); code != removedCode {
		c.t.Errorf("n%d, which was removed, ended with code %d", i+1, code)
	}
	c.remove(filepath.Join(p.dir, "data"))
	c.start(i)
	c.operate("approve", i)
	c.becomes("a new member votes", func() bool { return c.votes(i) })
}

// operate runs a command about a member until it is done. After a fault the others may refuse it for a while.
func (c *cluster) operate(command string, i int) {
	var servers []string
	for k := range hosts {
		if k != i {
			servers = append(servers, "http://"+c.lab.addr(k, 0))
		}
	}
	var last string
	c.becomes("cluster "+command+" is done", func() bool {
		cmd := leash.Command(c.nodes[i].args[0], "cluster", command, fmt.Sprint("n", i+1), "--server", strings.Join(servers, ","))
		out, err := cmd.CombinedOutput()
		if said := string(out); err != nil && said != last {
			last = said
			c.t.Logf("cluster %s n%d: %s", command, i+1, out)
		}
		return err == nil
	})
}

// becomes is eventually for a fault: nodes may end meanwhile, and the faults go on when it fails.
func (c *cluster) becomes(what string, ok func() bool) {
	for deadline := time.Now().Add(patience); !ok(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Errorf("not within %v: %s", patience, what)
			return
		}
	}
}

// votes reports whether a node has everything, and votes. While its former disk is a member the node is not ready.
func (c *cluster) votes(i int) bool {
	if !c.isReady(i) {
		return false
	}
	for _, n := range c.ask(i).Nodes {
		if n.ID == fmt.Sprint("n", i+1) {
			return n.Voter
		}
	}
	return false
}

func (c *cluster) rename(from, to string) {
	if err := os.Rename(from, to); err != nil {
		c.t.Error(err)
	}
}

func (c *cluster) remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		c.t.Error(err)
	}
}
