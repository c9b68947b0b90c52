package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/taskrt/taskrt/internal/subproc"
)

// Group is the cgroup in which this process makes cgroups for its children. It is of version 2.
type Group struct {
	dir   string
	lacks error
	pids  bool // the number of processes and threads can be bounded, too
	made  atomic.Int64
	sys   system
}

// system is where the kernel shows its state.
type system struct {
	proc string                             // /proc
	attr func(path, name string) (v string) // "": there is no such attribute, or it cannot be read
	pid  int
	make func(dir string) error // as mkdir: the kernel puts files into it
}

// Own returns the cgroup that was delegated to this process: its own one, or the one above it. If processes may be only in its leaves, this
// process moves itself into one. Own is called once, before the first child is started. If nothing was delegated, Lacks of the Group says
// why, and nothing was changed.
func Own() *Group { return own(system{proc: "/proc", attr: attribute, pid: os.Getpid(), make: mkdir}) }

func own(sys system) *Group {
	g := &Group{sys: sys}
	if g.lacks = g.find(); g.lacks == nil {
		g.lacks = g.settle()
	}
	return g
}

// None returns a Group without a cgroup, for the reason that it is given.
func None(why error) *Group { return &Group{lacks: why} }

// Lacks says why children are in no cgroup of their own; nil: they are.
func (g *Group) Lacks() error { return g.lacks }

const (
	prefix = "taskrt-" // of the names of groups that are made here
	leaf   = prefix + "server"
)

// find finds the cgroup that was delegated. It changes nothing.
func (g *Group) find() error {
	at, err := os.ReadFile(filepath.Join(g.sys.proc, "self/cgroup"))
	if err != nil {
		return fmt.Errorf("no cgroups: %w", err)
	}
	path, is := pathOf(string(at))
	if !is {
		return errors.New("this process is in no cgroup of version 2")
	}
	mounts, err := os.ReadFile(filepath.Join(g.sys.proc, "self/mountinfo"))
	if err != nil {
		return fmt.Errorf("no cgroups: %w", err)
	}
	root, dir, is := dirOf(string(mounts), path)
	if !is {
		return fmt.Errorf("no cgroup2 filesystem is mounted that has %s", path)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if g.delegated(d) {
			return g.use(d)
		}
		if d == root {
			break
		}
	}
	// Everything above the root of a namespace is hidden, so the maker of the namespace has given the root away. The root of all cgroups does not count.
	if path == "/" && dir == root && exists(filepath.Join(dir, "cgroup.events")) {
		return g.use(dir)
	}
	return fmt.Errorf("%s was not delegated to this process (systemd: Delegate=memory)", dir)
}

// delegated reports whether systemd has marked a cgroup as given away.
func (g *Group) delegated(dir string) bool {
	return g.sys.attr(dir, "user.delegate") == "1" || g.sys.attr(dir, "trusted.delegate") == "1"
}

// use takes a cgroup if its controllers are there and nobody else's processes are in it.
func (g *Group) use(dir string) error {
	has, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !slices.Contains(has, "memory") {
		return fmt.Errorf("%s has no memory controller", dir)
	}
	for _, name := range []string{"cgroup.procs", "cgroup.subtree_control"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("not delegated: %w", err)
		}
		_ = f.Close() // nothing was written
	}
	procs, err := words(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	me := strconv.Itoa(g.sys.pid)
	if others := slices.DeleteFunc(procs, func(p string) bool { return p == me }); len(others) > 0 {
		return fmt.Errorf("%s has other processes in it: %.100s", dir, strings.Join(others, " "))
	}
	g.dir, g.pids = dir, slices.Contains(has, "pids")
	return nil
}

// settle makes the cgroup one with children: this process leaves it for a leaf, controllers are switched on, and what a former process of
// this program has left is removed.
func (g *Group) settle() error {
	procs, err := words(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	if len(procs) > 0 {
		home := filepath.Join(g.dir, leaf)
		if err := g.sys.make(home); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := put(home, "cgroup.procs", strconv.Itoa(g.sys.pid)); err != nil {
			return err
		}
	}
	if err := put(g.dir, "cgroup.subtree_control", "+memory"); err != nil {
		return err
	}
	if g.pids {
		g.pids = put(g.dir, "cgroup.subtree_control", "+pids") == nil
	}
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if pid, is := madeBy(e.Name()); is && pid != g.sys.pid && !exists(filepath.Join(g.sys.proc, strconv.Itoa(pid))) {
			_ = syscall.Rmdir(filepath.Join(g.dir, e.Name())) // one with processes stays
		}
	}
	return nil
}

// madeBy returns the process that has made a group with such a name.
func madeBy(name string) (pid int, is bool) {
	rest, is := strings.CutPrefix(name, prefix)
	number, _, more := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(number)
	return pid, is && more && err == nil && pid > 0
}

// Box is the cgroup of one child.
type Box struct {
	dir    string // "": there is none
	file   *os.File
	memory int64
	lacks  error
}

// maxPIDs is more than the threads that a process of Go may have.
const maxPIDs = 12_000

// Start starts a child in a cgroup of its own, which may have so many bytes of memory. The kernel ends the child when it needs more. If
// there can be no such cgroup, the child is started all the same, and the Box says why.
func (g *Group) Start(c subproc.Command, name string, memory int64) (*subproc.Process, *Box, error) {
	b := g.make(name, memory)
	if c.Cgroup = b.file; b.file != nil {
		p, err := subproc.Start(c)
		if err == nil {
			if !b.holds(p.PID()) {
				b.lacks = errors.New("the kernel does not say that the process is in it")
			}
			return p, b, nil
		}
		b.Close()
		b, c.Cgroup = &Box{lacks: err}, nil // an old kernel, or a right that is missing
	}
	p, err := subproc.Start(c)
	if err != nil {
		b.Close()
	}
	return p, b, err
}

// make makes a cgroup. The Box says whether there is one.
func (g *Group) make(name string, memory int64) *Box {
	if g.lacks != nil {
		return &Box{lacks: g.lacks}
	}
	b := &Box{dir: filepath.Join(g.dir, fmt.Sprintf("%s%d-%s-%d", prefix, g.sys.pid, name, g.made.Add(1))), memory: memory}
	if err := g.sys.make(b.dir); err != nil {
		return &Box{lacks: err}
	}
	err := errors.Join(put(b.dir, "memory.max", strconv.FormatInt(memory, 10)), put(b.dir, "memory.oom.group", "1"))
	if exists(filepath.Join(b.dir, "memory.swap.max")) { // else the kernel counts no swap
		err = errors.Join(err, put(b.dir, "memory.swap.max", "0"))
	}
	if g.pids {
		err = errors.Join(err, put(b.dir, "pids.max", strconv.Itoa(maxPIDs)))
	}
	if err == nil {
		b.file, err = os.Open(b.dir)
	}
	if err != nil {
		b.Close()
		return &Box{lacks: err}
	}
	return b
}

// Lacks says why the child is in no cgroup of its own; nil: it is.
func (b *Box) Lacks() error { return b.lacks }

// Memory is the limit in bytes.
func (b *Box) Memory() int64 { return b.memory }

// Kills is how often the kernel has ended a process in the group because the group needed more memory than it may have.
func (b *Box) Kills() int64 {
	if b.dir == "" {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "memory.events"))
	if err != nil {
		return 0 // then nobody can know
	}
	return killsIn(string(text))
}

// Close removes the group. Its process has been reaped. A group that stays is removed by the next process of this program.
func (b *Box) Close() {
	if b.file != nil {
		_ = b.file.Close() // it was only a name
	}
	if b.dir != "" {
		_ = syscall.Rmdir(b.dir)
	}
}

// holds reports whether a process is in the group, as the kernel says.
func (b *Box) holds(pid int) bool {
	procs, err := words(filepath.Join(b.dir, "cgroup.procs"))
	return err == nil && slices.Contains(procs, strconv.Itoa(pid))
}

// killsIn reads memory.events.
func killsIn(text string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			return n
		}
	}
	return 0
}

// pathOf reads /proc/self/cgroup: the path in the hierarchy of version 2.
func pathOf(text string) (path string, is bool) {
	for line := range strings.Lines(text) {
		if path, is = strings.CutPrefix(strings.TrimRight(line, "\n"), "0::"); is {
			return path, strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/..")
		}
	}
	return "", false
}

// dirOf reads /proc/self/mountinfo: the directory of a cgroup, and the one below which cgroups are mounted.
func dirOf(mounts, path string) (root, dir string, is bool) {
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		f, t := strings.Fields(left), strings.Fields(right)
		if len(f) < 5 || len(t) < 1 || t[0] != "cgroup2" {
			continue
		}
		below, is := path, true
		if f[3] != "/" { // a part of the hierarchy is mounted
			below, is = strings.CutPrefix(path, f[3])
			is = is && (below == "" || strings.HasPrefix(below, "/"))
		}
		if is {
			return f[4], filepath.Join(f[4], below), true
		}
	}
	return "", "", false
}

func words(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	return strings.Fields(string(text)), err
}

// put writes into a file that the kernel has made.
func put(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
