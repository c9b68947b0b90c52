package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/taskrt/taskrt/internal/subproc"
)

// TestMain is also a child that takes more and more memory, once it is told to.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hog" {
		if _, err := subproc.Begin(0, 1); err != nil {
			os.Exit(1)
		}
		for all := [][]byte{}; ; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	}
	os.Exit(m.Run())
}

// tree is a directory that looks as the kernel shows cgroups.
type tree struct {
	t     *testing.T
	mount string
	marks map[string]string // the attribute user.delegate by path
	sys   system
}

const me = 4711

func newTree(t *testing.T, path, root string) *tree {
	t.Helper()
	tr := &tree{t: t, mount: t.TempDir(), marks: map[string]string{}}
	proc := t.TempDir()
	tr.sys = system{proc: proc, pid: me, make: tr.group, attr: func(path, name string) string {
		if name != "user.delegate" {
			return ""
		}
		return tr.marks[path]
	}}
	tr.write(filepath.Join(proc, "self/cgroup"), "12:pids:/x\n0::"+path+"\n")
	tr.write(filepath.Join(proc, "self/mountinfo"), fmt.Sprintf("30 1 0:26 / /proc rw - proc proc rw\n35 25 0:30 %s %s rw,nosuid shared:9 - cgroup2 cgroup2 rw\n", root, tr.mount))
	return tr
}

func (tr *tree) write(file, text string) {
	tr.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		tr.t.Fatal(err)
	}
}

// group makes a cgroup with all its files.
func (tr *tree) group(dir string) error {
	if exists(filepath.Join(dir, "cgroup.procs")) {
		return os.ErrExist
	}
	for name, text := range map[string]string{
		"cgroup.procs": "", "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "", "cgroup.events": "populated 0\n", "memory.max": "max\n",
		"memory.swap.max": "max\n", "memory.oom.group": "0\n", "memory.events": "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n", "pids.max": "max\n",
	} {
		tr.write(filepath.Join(dir, name), text)
	}
	return nil
}

func (tr *tree) has(file, want string) {
	tr.t.Helper()
	got, err := os.ReadFile(filepath.Join(tr.mount, file))
	if err != nil || strings.TrimSpace(string(got)) != want {
		tr.t.Errorf("%s: %q, %v, want %q", file, got, err, want)
	}
}

// TestDelegated (SPEC A10): a cgroup that was given away is used. This process goes into a leaf of it, its child into one with limits.
func TestDelegated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, root, own, base string }{
		"by systemd":                {"/system.slice/taskrt.service", "/", "system.slice/taskrt.service", "system.slice/taskrt.service"},
		"by systemd, in a subgroup": {"/system.slice/taskrt.service/server", "/", "system.slice/taskrt.service/server", "system.slice/taskrt.service"},
		"a part is mounted":         {"/docker/17/svc", "/docker/17", "svc", "svc"},
		"root of a namespace":       {"/", "/", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c.path, c.root)
			own, base := filepath.Join(tr.mount, c.own), filepath.Join(tr.mount, c.base)
			_ = tr.group(base)
			_ = tr.group(own)
			tr.write(filepath.Join(own, "cgroup.procs"), fmt.Sprintln(me))
			tr.write(filepath.Join(own, "memory.events"), "")
			if c.path != "/" {
				tr.marks[base] = "1"
			}
			dead := filepath.Join(base, "taskrt-99-guests-1") // of a process that is gone
			if err := os.Mkdir(dead, 0o755); err != nil {
				t.Fatal(err)
			}
			g := found(t, tr)
			if base == own {
				tr.has(filepath.Join(c.base, leaf, "cgroup.procs"), strconv.Itoa(me))
			} else if exists(filepath.Join(base, leaf)) {
				t.Error("this process was in a leaf already")
			}
			tr.has(filepath.Join(c.base, "cgroup.subtree_control"), "+pids") // written last
			if exists(dead) {
				t.Error("what a former process has left is there")
			}
			b := g.make("guests", 5<<20)
			if b.Lacks() != nil || b.Kills() != 1 || b.Memory() != 5<<20 || b.file == nil {
				t.Fatalf("%+v", b)
			}
			at, _ := filepath.Rel(tr.mount, b.dir)
			tr.has(filepath.Join(at, "memory.max"), strconv.Itoa(5<<20))
			tr.has(filepath.Join(at, "memory.swap.max"), "0")
			tr.has(filepath.Join(at, "memory.oom.group"), "1")
			tr.has(filepath.Join(at, "pids.max"), strconv.Itoa(maxPIDs))
			if b.holds(me) {
				t.Error("nobody is in it")
			}
			if second := g.make("guests", 1); second.dir == b.dir {
				t.Errorf("two children in %s", b.dir)
			}
		})
	}
}

func found(t *testing.T, tr *tree) *Group {
	t.Helper()
	g := own(tr.sys)
	if g.Lacks() != nil {
		t.Fatal(g.Lacks())
	}
	return g
}

// TestNotDelegated (SPEC A10): a cgroup that is not given away, or not ours alone, stays as it is, and the reason is said.
func TestNotDelegated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, want string
		edit       func(tr *tree, own string)
	}{
		"no mark":         {"/svc", "not delegated", func(tr *tree, own string) { tr.marks[own] = "" }},
		"marked 0":        {"/svc", "not delegated", func(tr *tree, own string) { tr.marks[own] = "0" }},
		"the root of all": {"/", "not delegated", func(tr *tree, own string) { tr.marks[own] = ""; _ = os.Remove(filepath.Join(own, "cgroup.events")) }},
		"other processes": {"/svc", "other processes", func(tr *tree, own string) { tr.write(filepath.Join(own, "cgroup.procs"), fmt.Sprintf("%d\n12\n", me)) }},
		"no memory":       {"/svc", "memory", func(tr *tree, own string) { tr.write(filepath.Join(own, "cgroup.controllers"), "cpu pids\n") }},
		"outside":         {"/../x", "version 2", func(*tree, string) {}},
		"not mounted": {"/svc", "mounted", func(tr *tree, _ string) {
			tr.write(filepath.Join(tr.sys.proc, "self/mountinfo"), "30 1 0:26 / /proc rw - proc proc rw\n")
		}},
		"no cgroups": {"/svc", "no cgroups", func(tr *tree, _ string) { _ = os.RemoveAll(tr.sys.proc) }},
		"version 1":  {"/svc", "version 2", func(tr *tree, _ string) { tr.write(filepath.Join(tr.sys.proc, "self/cgroup"), "4:memory:/svc\n") }},
		"no files":   {"/svc", "cgroup.subtree_control", func(tr *tree, own string) { _ = os.Remove(filepath.Join(own, "cgroup.subtree_control")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTree(t, c.path, "/")
			dir := filepath.Join(tr.mount, c.path)
			_ = tr.group(dir)
			tr.write(filepath.Join(dir, "cgroup.procs"), fmt.Sprintln(me))
			tr.marks[dir] = "1"
			c.edit(tr, dir)
			g := own(tr.sys)
			if g.Lacks() == nil || !strings.Contains(g.Lacks().Error(), c.want) {
				t.Fatalf("%v, want %s", g.Lacks(), c.want)
			}
			if exists(filepath.Join(dir, leaf)) {
				t.Error("this process has moved")
			}
			if b := g.make("guests", 1); b.Lacks() == nil || b.file != nil || b.Kills() != 0 {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestStartsWithout: a child is started also where the kernel takes no such cgroup, and the Box says why.
func TestStartsWithout(t *testing.T) {
	t.Parallel()
	tr := newTree(t, "/svc", "/")
	dir := filepath.Join(tr.mount, "svc")
	_ = tr.group(dir)
	tr.marks[dir] = "1"
	p, b, err := found(t, tr).Start(subproc.Command{Args: []string{"hog"}}, "guests", 1<<30) // a directory that is no cgroup
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	<-p.Done()
	if b.Lacks() == nil {
		t.Error("no word of it")
	}
	b.Close()
}

// TestKernelEndsIt (SPEC A10): the kernel keeps the limit of memory. Only the child dies, and the Box says of what.
func TestKernelEndsIt(t *testing.T) {
	t.Parallel()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip("no /proc:", err)
	}
	root, _, is := dirOf(string(mounts), "/")
	if !is {
		t.Skip("no cgroup2 is mounted")
	}
	if on, err := words(filepath.Join(root, "cgroup.subtree_control")); err != nil || !strings.Contains(strings.Join(on, " "), "memory") {
		t.Skipf("below %s there is no memory controller: %q, %v", root, on, err)
	}
	dir := filepath.Join(root, fmt.Sprintf("taskrt-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no right to make a cgroup:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Rmdir(dir); err != nil {
			t.Error(err)
		}
	})
	g := &Group{dir: dir, sys: system{proc: "/proc", pid: os.Getpid(), make: mkdir}}
	if err := g.settle(); err != nil {
		t.Fatal(err)
	}
	p, b, err := g.Start(subproc.Command{Args: []string{"hog"}}, "guests", 64<<20)
	if err != nil || b.Lacks() != nil {
		t.Fatal(err, b.Lacks())
	}
	defer b.Close()
	if err := p.Conn.Send('x', nil); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if b.Kills() == 0 {
		t.Errorf("%v, but no oom_kill", p.State())
	}
}
