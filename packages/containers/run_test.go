package containers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const secretPath = "/run/secrets/cluster.secret"

// newSecret draws a cluster secret with the image, and keeps it as an orchestrator does: root owns it, and the group of the image's user reads it.
func newSecret(t *testing.T, i *image) (file string) {
	t.Helper()
	file = filepath.Join(passable(t), "cluster.secret")
	text := newContainer(t, i, "secret", []string{"secret", "new"}, nil).run()
	if err := os.WriteFile(file, []byte(text+"\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	own(t, file, 0, 65532, 0o440)
	return file
}

func own(t *testing.T, path string, uid, gid int, mode os.FileMode) {
	t.Helper()
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// volume is what a container keeps. Docker gives a new one the owner and the rights that the image's directory has; Kubernetes gives one to root and
// to the group of fsGroup, and a file system has a directory of its own in it.
func volume(t *testing.T, kubernetes bool) string {
	t.Helper()
	dir := filepath.Join(passable(t), "volume")
	if err := os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	if kubernetes {
		own(t, dir, 0, 65532, 0o2770|os.ModeSetgid)
		return dir
	}
	own(t, dir, 65532, 65532, 0o750)
	return dir
}

// server is the container of a node that is a cluster by itself.
func server(t *testing.T, i *image, id, data, secret string, env map[string]string) *container {
	t.Helper()
	all := map[string]string{"TASKRT_ID": "n1", "TASKRT_RAFT_ADVERTISE": "127.0.0.1:7170", "TASKRT_CLUSTER_SECRET": secretPath}
	for name, value := range env {
		all[name] = value
	}
	return newContainer(t, i, id, nil, all, bind(data, "/data", "rw"), bind(secret, secretPath, "ro")).start()
}

// give puts a file into a volume.
func give(t *testing.T, volume, name, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(volume, name)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	own(t, to, 65532, 65532, 0o600)
}

// TestServerInAContainer: the image runs a node without root, without capabilities, behind Docker's filter of system calls, with a root that nobody
// can write to. Its guests' process has all walls that the kernel has. It stops when it is told to, and finds its state again.
func TestServerInAContainer(t *testing.T) {
	i := openImage(t)
	for _, kind := range []string{"docker", "kubernetes"} {
		t.Run(kind, func(t *testing.T) {
			secret, data := newSecret(t, i), volume(t, kind == "kubernetes")
			c := server(t, i, kind+"-1", data, secret, nil)
			c.until("server", "--health", "live")
			c.until("server", "--health", "ready")
			c.env = []string{"TASKRT_TOKEN=" + c.must("token", "root", "--cluster-secret", secretPath)}
			reach := []string{"--server", "https://127.0.0.1:7070", "--ca", c.must("secret", "ca", secretPath)}
			give(t, data, "echo.wasm", "../../testdata/wasm/echo.wasm")
			c.must(append([]string{"push", "/data/echo.wasm", "--name", "echo"}, reach...)...)
			if out := c.must(append([]string{"submit", "echo", "--id", "first", "--params", `{"kept":1}`, "--wait", "-o", "json"}, reach...)...); !strings.Contains(out, `{"kept":1}`) {
				t.Errorf("the task: %s", out)
			}
			checkWalls(t, c, reach)
			checkOrphans(t, c)

			began := time.Now()
			c.signal("TERM")
			if code := c.wait(); code != 0 {
				t.Errorf("exit code %d after SIGTERM", code)
			}
			t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))

			env := c.env
			c = server(t, i, kind+"-2", data, secret, nil)
			c.env = env
			c.until("server", "--health", "ready")
			if out := c.must(append([]string{"get", "first", "-o", "json"}, reach...)...); !strings.Contains(out, `"status":"SUCCESS"`) {
				t.Errorf("the task after a restart: %s", out)
			}
			c.signal("KILL")
			if code := c.wait(); code != 137 {
				t.Errorf("exit code %d after SIGKILL", code)
			}
			c = server(t, i, kind+"-3", data, secret, nil)
			c.env = env
			c.until("server", "--health", "ready")
			c.must(append([]string{"submit", "echo", "--params", `2`, "--wait"}, reach...)...)
		})
	}
}

// checkWalls asks the node what shuts its guests in. Docker's filter must take away nothing that the kernel has; the memory's cgroup is not the
// container's own here.
func checkWalls(t *testing.T, c *container, reach []string) {
	t.Helper()
	out := c.must(append([]string{"cluster", "workers", "-o", "json"}, reach...)...)
	var answer struct {
		Workers []struct {
			ID   string
			Wall struct {
				InForce []string `json:"in_force"`
				Missing []string
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, w := range answer.Workers {
		if w.ID != "n1" {
			continue
		}
		t.Logf("in force %v, missing %v", w.Wall.InForce, w.Wall.Missing)
		for _, part := range []string{"no_new_privs", "not_dumpable", "no_core", "seccomp"} {
			if !slices.Contains(w.Wall.InForce, part) {
				t.Errorf("%s is not in force", part)
			}
		}
		if kernel, err := os.ReadFile("/sys/kernel/security/lsm"); err == nil && strings.Contains(string(kernel), "landlock") && !slices.Contains(w.Wall.InForce, "landlock") {
			t.Error("the kernel has landlock, and it is not in force")
		}
		return
	}
	t.Errorf("no worker of guests: %s", out)
}

// checkOrphans starts a second node in the container, as somebody might by hand, and kills it: its guests' process becomes a child of the first
// process, and must not stay in the table of processes.
func checkOrphans(t *testing.T, c *container) {
	t.Helper()
	args := []string{"exec", c.id, "/usr/bin/taskrt", "server", "--id", "x", "--dir", "/data/x", "--http", "127.0.0.1:7079", "--raft", "127.0.0.1:7179", "--raft-advertise", "127.0.0.1:7179"}
	second := c.command(args...)
	var said output
	second.Stdout, second.Stderr = &said, &said
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("server", "--health", "ready", "--http", "127.0.0.1:7079")
	var main, guests int
	for pid, args := range processes(t) {
		if strings.Contains(args, "\x00/data/x\x00") && strings.HasPrefix(args, "/usr/bin/taskrt\x00server") {
			main = pid
		}
	}
	for _, pid := range childrenOf(t, main) {
		guests = pid
	}
	if main == 0 || guests == 0 {
		t.Fatalf("the second node is %d, its guests' process %d: %s", main, guests, said.String())
	}
	if err := syscall.Kill(main, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // it was killed
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		if _, err := os.Stat("/proc/" + strconv.Itoa(guests)); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			stat, _ := os.ReadFile("/proc/" + strconv.Itoa(guests) + "/stat")
			t.Fatalf("the orphan stays in the table of processes: %s", stat)
		}
	}
}

// processes are the command lines of all processes.
func processes(t *testing.T) map[int]string {
	t.Helper()
	all := map[int]string{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && err2 == nil { // else it has ended meanwhile
			all[pid] = string(text)
		}
	}
	return all
}

func childrenOf(t *testing.T, parent int) (all []int) {
	t.Helper()
	for pid := range processes(t) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			all = append(all, pid)
		}
	}
	return all
}

// TestHealth: a node that waits for others lives, and is not ready; without a secret for its open port the container does not start, and says why.
func TestHealth(t *testing.T) {
	i := openImage(t)
	secret := newSecret(t, i)
	c := server(t, i, "lone", volume(t, false), secret, map[string]string{"TASKRT_JOIN": "n2.invalid:7170", "TASKRT_BOOTSTRAP_EXPECT": "3"})
	c.until("server", "--health", "live")
	if out, err := c.exec("server", "--health", "ready"); err == nil || !strings.Contains(out, "not ready: 503") {
		t.Errorf("alone it is ready: %v, %s", err, out)
	}
	c.signal("TERM")
	if code := c.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}

	open := newContainer(t, i, "open", nil, map[string]string{"TASKRT_ID": "n1", "TASKRT_RAFT_ADVERTISE": "127.0.0.1:7170"}, bind(volume(t, false), "/data", "rw")).start()
	if code := open.wait(); code != 2 || !strings.Contains(open.said.String(), "--cluster-secret") {
		t.Errorf("an open node: exit code %d, %s", code, open.said.String())
	}
	read := filepath.Join(passable(t), "secret")
	if err := os.WriteFile(read, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	own(t, read, 65532, 65532, 0o644)
	bad := server(t, i, "bad", volume(t, false), read, nil)
	if code := bad.wait(); code == 0 || !strings.Contains(bad.said.String(), "can be read or written by others") {
		t.Errorf("a secret for everybody: exit code %d, %s", code, bad.said.String())
	}
}
