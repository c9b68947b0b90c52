package wall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestMain is also the process behind the wall.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "behind" {
		os.Exit(behind(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == "abort" {
		os.Exit(abort(len(os.Args) > 2))
	}
	os.Exit(m.Run())
}

// abort ends as a process does that dumps core, if it can.
func abort(closed bool) int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &l) != nil || unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: l.Max, Max: l.Max}) != nil {
		return 2
	}
	if closed && Close() != nil {
		return 2
	}
	debug.SetTraceback("crash")
	panic("abort")
}

// TestClose (SPEC A9): a process that holds secrets leaves no core.
func TestClose(t *testing.T) {
	t.Parallel()
	dumps := func(args ...string) bool {
		cmd := leash.Command("/proc/self/exe", append([]string{"abort"}, args...)...)
		cmd.Dir = t.TempDir()
		_ = cmd.Run() // its state says how it ended
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
			t.Fatalf("%v", cmd.ProcessState)
		}
		return status.CoreDump()
	}
	if !dumps() {
		t.Log("no process leaves a core on this machine, so this shows only half")
	}
	if dumps("closed") {
		t.Error("it left a core")
	}
}

// world is what a process behind a wall is told of what it must not reach.
type world struct {
	Plan    Plan
	Parent  int
	Secret  string // file outside of the plan
	Outside string // directory outside of the plan
	Inside  string // file below the plan's directory
	TCP     string // address where somebody listens
	Unix    string // path where somebody listens
}

// report is what such a process says.
type report struct {
	State   State
	Tried   []map[string]string // of each thread: what was tried → error; "": it succeeded
	Trouble []string            // what must go on working, and does not
}

// behind raises a wall, and tries on several threads what is in the way.
func behind(arg string) int {
	var w world
	if err := json.Unmarshal([]byte(arg), &w); err != nil {
		panic(err)
	}
	var r report
	const threads = 4
	begin, tried := make(chan struct{}), make(chan map[string]string, 2*threads)
	try := func() { // on a thread of its own
		runtime.LockOSThread()
		<-begin
		tried <- attempts(w)
	}
	for range threads {
		go try()
	}
	for runtime.NumGoroutine() < threads+1 {
		runtime.Gosched()
	}
	var err error
	if r.State, err = Raise(w.Plan); err != nil {
		panic(err)
	}
	for range threads { // threads that begin behind the wall
		go try()
	}
	close(begin)
	for range 2 * threads {
		r.Tried = append(r.Tried, <-tried)
	}
	r.Trouble = needs(w)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		panic(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // the test looks at the threads meanwhile
	return 0
}

// raw makes a system call.
func raw(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	} else if nr == unix.SYS_CLONE && r == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 99, 0, 0) // a child that should not be
	}
	return nil
}

// attempts tries everything that a guest's process must not do, on the thread of the caller.
func attempts(w world) map[string]string {
	tried := map[string]string{}
	note := func(what string, err error) {
		tried[what] = ""
		if errno, is := errors.AsType[syscall.Errno](err); is {
			tried[what] = unix.ErrnoName(errno)
		} else if err != nil {
			tried[what] = err.Error()
		}
	}
	open := func(what, path string, flags int) {
		f, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			f.Close()
		}
		note(what, err)
	}
	open("read a file", w.Secret, os.O_RDONLY)
	open("read the parent's environment", fmt.Sprintf("/proc/%d/environ", w.Parent), os.O_RDONLY)
	open("read the parent's memory", fmt.Sprintf("/proc/%d/mem", w.Parent), os.O_RDONLY)
	open("write a file", w.Secret, os.O_WRONLY)
	open("append to a file", w.Secret, os.O_WRONLY|os.O_APPEND)
	open("make a file", filepath.Join(w.Outside, "new"), os.O_CREATE|os.O_WRONLY)
	open("make an unnamed file", w.Outside, unix.O_TMPFILE|os.O_RDWR)
	note("remove a file", os.Remove(w.Secret))
	note("rename a file", os.Rename(w.Secret, w.Secret+"2"))
	note("link a file", os.Link(w.Secret, w.Secret+"3"))
	note("link by name", os.Symlink(w.Secret, w.Secret+"4"))
	note("make a directory", os.Mkdir(filepath.Join(w.Outside, "dir"), 0o700))
	note("truncate a file", os.Truncate(w.Secret, 0))
	note("open by openat2", raw(unix.SYS_OPENAT2, 0, 0, 0, 0))

	note("execute", unix.Exec("/bin/true", []string{"true"}, nil))
	note("execute a descriptor", raw(unix.SYS_EXECVEAT, 0, uintptr(unsafe.Pointer(&[]byte{0}[0])), 0, 0, unix.AT_EMPTY_PATH))
	note("fork", raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)))
	note("fork as another call's number", raw(unix.SYS_CLONE, unix.SYS_IOCTL, pagemapScan))
	note("clone3", raw(unix.SYS_CLONE3, 0, 0))
	note("a namespace", unix.Unshare(unix.CLONE_NEWUSER))
	note("join a namespace", raw(unix.SYS_SETNS, 0, 0))
	note("chroot", unix.Chroot("/"))
	note("mount", unix.Mount("none", w.Outside, "tmpfs", 0, ""))

	note("trace the parent", unix.PtraceAttach(w.Parent))
	note("be traced", raw(unix.SYS_PTRACE, 0))
	note("read memory of the parent", raw(unix.SYS_PROCESS_VM_READV, uintptr(w.Parent)))
	note("write memory of the parent", raw(unix.SYS_PROCESS_VM_WRITEV, uintptr(w.Parent)))
	note("signal the parent", unix.Kill(w.Parent, 0))
	note("signal the group", unix.Kill(0, 0))
	note("signal a thread of the parent", unix.Tgkill(w.Parent, w.Parent, 0))
	note("signal by tkill", raw(unix.SYS_TKILL, uintptr(w.Parent), 0))
	note("queue a signal", raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(w.Parent), 0, 0))
	note("a descriptor of the parent", raw(unix.SYS_PIDFD_OPEN, uintptr(w.Parent), 0))
	note("signals of a file to the parent", func() error { _, err := unix.FcntlInt(0, unix.F_SETOWN, w.Parent); return err }())

	dial := func(network, address string) error {
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
	note("connect", dial("tcp", w.TCP))
	note("connect to a path", dial("unix", w.Unix))
	for name, domain := range map[string]int{"an IPv6 socket": unix.AF_INET6, "a netlink socket": unix.AF_NETLINK, "a packet socket": unix.AF_PACKET, "a VM socket": unix.AF_VSOCK} { // order-free: a map again
		_, err := unix.Socket(domain, unix.SOCK_DGRAM, 0)
		note(name, err)
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	note("a pair of datagrams", err)
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	note("a pair of packets", err)
	note("bind", raw(unix.SYS_BIND, 0, 0, 0))
	note("listen", raw(unix.SYS_LISTEN, 0, 1))

	note("bpf", raw(unix.SYS_BPF, 0, 0, 0))
	note("perf", raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0))
	note("io_uring", raw(unix.SYS_IO_URING_SETUP, 1, 0))
	note("keys", raw(unix.SYS_KEYCTL, 0, 0))
	note("userfaultfd", raw(unix.SYS_USERFAULTFD, 0))
	note("another filter", raw(unix.SYS_SECCOMP, 1, 0, 0))
	note("an ioctl", func() error { _, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); return err }())
	note("be dumpable", unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
	note("raise a limit", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}))
	note("change the user", raw(unix.SYS_SETRESUID, 1, 1, 1))
	note("change the host's name", unix.Sethostname([]byte("x")))
	note("a module of the kernel", raw(unix.SYS_INIT_MODULE, 0, 0, 0))
	note("the clock", raw(unix.SYS_CLOCK_SETTIME, 0, 0))
	return tried
}

// needs tries what a guest's process does all the time.
func needs(w world) (trouble []string) {
	check := func(what string, err error) {
		if err != nil {
			trouble = append(trouble, what+": "+err.Error())
		}
	}
	text, err := os.ReadFile(w.Inside)
	check("read a file of the plan", err)
	if string(text) != "inside" {
		check("content of a file of the plan", fmt.Errorf("%q", text))
	}
	if len(w.Plan.Writes) > 0 {
		dir := filepath.Join(w.Plan.Writes[0], "made")
		check("make a directory", os.Mkdir(dir, 0o700))
		check("write", os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600))
		check("rename", os.Rename(dir, dir+"2"))
		check("touch", os.Chtimes(dir+"2", time.Now(), time.Now()))
		check("chmod", os.Chmod(dir+"2", 0o755))
		check("remove", os.RemoveAll(dir+"2"))
	}
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	check("memory", err)
	check("memory of code", unix.Mprotect(code, unix.PROT_READ|unix.PROT_EXEC))
	check("give memory back", unix.Madvise(code, unix.MADV_DONTNEED))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check("a stream", err)
	for _, fd := range fds {
		c, err := net.FileConn(os.NewFile(uintptr(fd), "end"))
		check("a connection", err)
		if err == nil {
			check("close", c.Close())
		}
	}
	check("a profile", pprof.StartCPUProfile(new(bytes.Buffer)))
	sum, end := 0, time.Now().Add(50*time.Millisecond)
	for time.Now().Before(end) {
		sum++
	}
	pprof.StopCPUProfile()
	for range 20 { // new threads, and a collection that stops them
		done := make(chan struct{})
		go func() { runtime.LockOSThread(); runtime.GC(); close(done) }()
		<-done
	}
	return trouble
}

// start starts a process behind a wall, and returns its report. It lives until the test ends.
func start(t *testing.T, exe string, w world, as *syscall.Credential) (report, int) {
	t.Helper()
	arg, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	cmd := leash.Command(exe, "behind", string(arg))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr.Credential = as
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process behind the wall: %v", err)
		}
	})
	var r report
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r, cmd.Process.Pid
}

// newWorld makes what must not be reached, for everybody to read as far as file modes go.
func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := os.MkdirTemp("", "wall")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := world{Parent: os.Getpid(), Secret: filepath.Join(dir, "outside", "secret"), Outside: filepath.Join(dir, "outside"), Inside: filepath.Join(dir, "inside", "file")}
	for _, d := range []string{dir, w.Outside, filepath.Dir(w.Inside)} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{w.Secret: "secret", w.Inside: "inside"} { // order-free: two files
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o666), os.Chmod(path, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	w.Plan.Reads, w.Plan.Files = []string{filepath.Dir(w.Inside)}, 512
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(w.Outside, "socket")} { // order-free: two listeners
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if network == "tcp" {
			w.TCP = l.Addr().String()
		} else {
			w.Unix = address
		}
	}
	return w
}

// refusedByPath are attempts that only Landlock refuses: their system calls are those of the plan's files, too.
var refusedByPath = []string{"read a file", "read the parent's environment", "read the parent's memory"}

// absent are answered as by a kernel that does not know them.
var absent = []string{"clone3", "open by openat2"}

// checkRefused demands that the kernel has refused everything on every thread.
func checkRefused(t *testing.T, r report, byPath []string) {
	t.Helper()
	landlocked := slices.Contains(r.State.InForce, Landlock)
	if !landlocked {
		t.Logf("without Landlock this is not refused here: %v (%v)", byPath, r.State.Missing)
	}
	for thread, tried := range r.Tried {
		if len(tried) < 50 {
			t.Errorf("thread %d has tried %d things", thread, len(tried))
		}
		for what, got := range tried {
			want := []string{"EPERM"}
			switch {
			case slices.Contains(byPath, what):
				if want = []string{"EACCES", "EPERM"}; !landlocked {
					continue
				}
			case slices.Contains(absent, what):
				want = []string{"ENOSYS"}
			}
			if !slices.Contains(want, got) {
				t.Errorf("thread %d: %s: %q, want %q", thread, what, got, want)
			}
		}
	}
	if len(r.Trouble) > 0 {
		t.Errorf("behind the wall there is trouble with %q", r.Trouble)
	}
}

// TestWall (SPEC A10): behind the wall the kernel refuses everything, on threads that were there before it and on later ones; what a
// process of guests does goes on; and the state that it tells is what the kernel says of all its threads.
func TestWall(t *testing.T) {
	w := newWorld(t)
	r, pid := start(t, "/proc/self/exe", w, nil)
	checkRefused(t, r, refusedByPath)
	checkState(t, r.State, pid)
	if text, err := os.ReadFile(w.Secret); err != nil || string(text) != "secret" {
		t.Errorf("the file outside: %q, %v", text, err)
	}
}

// TestWallOfWriter: who writes below a directory writes nowhere else.
func TestWallOfWriter(t *testing.T) {
	w := newWorld(t)
	w.Plan.Reads, w.Plan.Writes = nil, w.Plan.Reads
	r, pid := start(t, "/proc/self/exe", w, nil)
	checkRefused(t, r, append([]string{
		"write a file", "append to a file", "make a file", "make an unnamed file", "remove a file", "rename a file", "make a directory",
	}, refusedByPath...))
	checkState(t, r.State, pid)
}

// TestWallOfNobody: the same for a process without rights, to which /proc/self does not belong once it is not dumpable.
func TestWallOfNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become nobody; all other tests run without rights then")
	}
	w := newWorld(t)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(filepath.Dir(w.Outside), "program") // nobody may not go where tests are built
	if err := errors.Join(os.WriteFile(exe, program, 0o755), os.Chmod(exe, 0o755)); err != nil {
		t.Fatal(err)
	}
	r, pid := start(t, exe, w, &syscall.Credential{Uid: 65534, Gid: 65534})
	checkRefused(t, r, refusedByPath)
	checkState(t, r.State, pid)
}

// checkState holds the state against what the kernel says of the process.
func checkState(t *testing.T, s State, pid int) {
	t.Helper()
	want := []string{NoNewPrivileges, NotDumpable, NoCore, Seccomp}
	if landlockLacks() == nil {
		want = append(want, Landlock)
	}
	if !slices.Equal(s.InForce, want) {
		t.Errorf("in force: %q, want %q (%q)", s.InForce, want, s.Missing)
	}
	seen, err := Confirm(pid, s)
	if err != nil || !slices.Equal(seen.InForce, want) {
		t.Errorf("seen from outside: %+v, %v", seen, err)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Max core file size        0                    0 ", "Max open files            512                  512 "} {
		if !strings.Contains(string(limits), line) {
			t.Errorf("no %q in its limits:\n%s", line, limits)
		}
	}
}

// TestConfirmSeesLies: a process that says what is not true is found out.
func TestConfirmSeesLies(t *testing.T) {
	t.Parallel()
	s, err := Confirm(os.Getpid(), State{InForce: []string{NoNewPrivileges, NoCore, Seccomp}, Missing: []string{"landlock: x"}})
	want := State{InForce: []string{NoCore}, Missing: []string{"landlock: x", "no_new_privs: a thread is without it", "seccomp: a thread is without it"}}
	if err != nil || !slices.Equal(s.InForce, want.InForce) || !slices.Equal(s.Missing, want.Missing) {
		t.Errorf("%+v, %v", s, err)
	}
	if got := want.String(); got != "no_core -landlock -no_new_privs -seccomp" {
		t.Errorf("%q", got)
	}
	if s, err := Confirm(1<<22+1, want); err == nil {
		t.Errorf("a process that is not there: %+v", s)
	}
}
