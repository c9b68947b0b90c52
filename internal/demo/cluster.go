package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

// sessionTTL is shorter than the default of 10 s, so that the demo need not wait that long for a dead worker's tasks.
const sessionTTL = "5s"

// cluster is three taskrt processes.
type cluster struct{ *trio.Cluster }

// newCluster chooses ports and directories.
func newCluster(binary, dir string) (*cluster, error) {
	c, err := trio.New(binary, dir, "--worker-slots", "4", "--session-ttl", sessionTTL)
	return &cluster{c}, err
}

// stop asks all nodes to end and checks that they do so cleanly.
func (c *cluster) stop(ctx context.Context) error {
	for _, p := range c.Nodes {
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop %s: %w", p.ID, err)
		}
	}
	for _, p := range c.Nodes {
		select {
		case <-p.Exited:
		case <-ctx.Done():
			return fmt.Errorf("%s does not stop: %w", p.ID, context.Cause(ctx))
		}
		if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("%s stopped with exit code %d", p.ID, code)
		}
	}
	return nil
}

// showLogs prints the end of every node's log.
func (c *cluster) showLogs() {
	for _, n := range c.Nodes {
		fmt.Fprintf(os.Stderr, "--- the last lines of %s\n%s\n", n.ID, n.LastLines(25))
	}
}

// cli runs one taskrt command and returns its standard output.
func (c *cluster) cli(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := leash.CommandContext(ctx, c.Binary, append(args, "--server", strings.Join(c.URLs(), ","))...)
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
