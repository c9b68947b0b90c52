package containers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// patience bounds the wait for what must come in the end.
const patience = 3 * time.Minute

// container is a container of the image, run as Docker does by default, but without any capability and without a writable root.
type container struct {
	t     *testing.T
	image *image
	id    string
	state string // directory of the tool
	spec  specs.Spec
	env   []string // of commands that are run in it
	cmd   *exec.Cmd
	said  output
	ended chan struct{}
}

// newContainer prepares a container. args come after the image's entrypoint; none: the image's own.
func newContainer(t *testing.T, i *image, id string, args []string, env map[string]string, mounts ...specs.Mount) *container {
	t.Helper()
	c := &container{t: t, image: i, id: "taskrt-" + id, state: filepath.Join(passable(t), "state"), ended: make(chan struct{})}
	if args == nil {
		args = i.config.Cmd
	}
	all := slices.Clone(i.config.Env)
	for name, value := range env { // a later one wins
		all = append(all, name+"="+value)
	}
	c.spec = specs.Spec{
		Version: "1.0.2", // which older tools know, too
		Process: &specs.Process{
			User: specs.User{UID: 65532, GID: 65532}, Args: slices.Concat(i.config.Entrypoint, args), Env: all, Cwd: i.config.WorkingDir,
			Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: true,
		},
		Root:     &specs.Root{Path: i.root, Readonly: true},
		Hostname: id,
		Mounts: append([]specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
			{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}},
		}, mounts...),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
			},
			MaskedPaths: []string{
				"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
				"/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	profile, err := seccomp.GetDefaultProfile(&c.spec)
	if err != nil {
		t.Fatal(err)
	}
	c.spec.Linux.Seccomp = profile
	return c
}

// bind is a directory or a file of this machine in a container.
func bind(from, to string, options ...string) specs.Mount {
	return specs.Mount{Destination: to, Type: "bind", Source: from, Options: append([]string{"bind", "nosuid", "nodev"}, options...)}
}

// command runs the tool.
func (c *container) command(args ...string) *exec.Cmd {
	return exec.Command(*tool, append([]string{"--root", c.state}, args...)...)
}

// start starts the container. However the test ends, nothing of it is left.
func (c *container) start() *container {
	c.t.Helper()
	bundle := passable(c.t)
	text, err := json.Marshal(c.spec)
	if err == nil {
		err = os.WriteFile(filepath.Join(bundle, "config.json"), text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.cmd = c.command("run", "--bundle", bundle, c.id)
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.ended) }()
	c.t.Cleanup(func() {
		_ = c.command("delete", "--force", c.id).Run() // it is gone if the test went well
		<-c.ended
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", c.id, c.said.String())
		}
	})
	return c
}

// wait waits for the container's end and returns its exit code.
func (c *container) wait() int {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("%s does not end", c.id)
	}
	return c.cmd.ProcessState.ExitCode()
}

// run runs a container to its end and returns what it printed.
func (c *container) run() string {
	c.t.Helper()
	if code := c.start().wait(); code != 0 {
		c.t.Fatalf("%v: exit code %d: %s", c.spec.Process.Args, code, c.said.String())
	}
	return strings.TrimSpace(c.said.String())
}

// exec runs the program in the container, as `docker exec` does, and returns what it printed.
func (c *container) exec(args ...string) (said string, err error) {
	c.t.Helper()
	all := []string{"exec"}
	for _, variable := range c.env {
		all = append(all, "--env", variable)
	}
	e := c.command(slices.Concat(all, []string{c.id, "/usr/bin/taskrt"}, args)...)
	out, err := e.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must is exec of what has to succeed.
func (c *container) must(args ...string) string {
	c.t.Helper()
	out, err := c.exec(args...)
	if err != nil {
		c.t.Fatalf("%s: %v: %v: %s", c.id, args, err, out)
	}
	return out
}

// until runs the program until it succeeds.
func (c *container) until(args ...string) string {
	c.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		out, err := c.exec(args...)
		if err == nil {
			return out
		}
		select {
		case <-tick.C:
		case <-c.ended:
			c.t.Fatalf("%s has ended before %v: %s", c.id, args, c.said.String())
		case <-late:
			c.t.Fatalf("%s: %v does not come: %v: %s", c.id, args, err, out)
		}
	}
}

// signal sends a signal to the container's first process.
func (c *container) signal(name string) {
	c.t.Helper()
	if out, err := c.command("kill", c.id, name).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// output is what a process has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
