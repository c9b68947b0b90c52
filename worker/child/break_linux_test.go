package child

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/task"
)

// prey is what a guest that has broken out of its engine would go for.
type prey struct {
	Server int // process
	File   string
	Dir    string
	TCP    string
}

// breakOut is what code could do that has left its memory: system calls, on the thread of its attempt. The result says what came of it.
func breakOut(params string) map[string]string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var p prey
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		return map[string]string{"params": err.Error()}
	}
	tried := map[string]string{}
	note := func(what string, err error) {
		tried[what] = "done"
		if err != nil {
			tried[what] = err.Error()
		}
	}
	open := func(what, path string, flags int) {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			_ = unix.Close(fd)
		}
		note(what, err)
	}
	open("read", p.File, unix.O_RDONLY)
	open("environ", fmt.Sprintf("/proc/%d/environ", p.Server), unix.O_RDONLY)
	open("mem", fmt.Sprintf("/proc/%d/mem", p.Server), unix.O_RDWR)
	open("fds", fmt.Sprintf("/proc/%d/fd", p.Server), unix.O_RDONLY)
	open("write", p.File, unix.O_WRONLY)
	open("create", filepath.Join(p.Dir, "new"), unix.O_CREAT|unix.O_WRONLY)
	note("remove", unix.Unlink(p.File))
	note("exec", unix.Exec("/bin/true", []string{"true"}, nil))
	_, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	note("fork", errno)
	note("ptrace", unix.PtraceAttach(p.Server))
	note("kill", unix.Kill(p.Server, unix.SIGKILL))
	_, err := net.DialTimeout("tcp", p.TCP, time.Second)
	note("connect", err)
	_, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	note("socket", err)
	note("dumpable", unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
	return tried
}

// byPathOnly is refused by Landlock alone: to read files is what a process does that reads compiled code.
var byPathOnly = []string{"read", "environ", "fds"}

// TestGuestCannotBreakOut (SPEC A10): whatever the code of an attempt does in the guests' process, on whichever thread, the kernel
// refuses it; the leader hears of the wall; and the kernel says the same of all threads of the process.
func TestGuestCannotBreakOut(t *testing.T) {
	t.Parallel()
	b := start(t, 10*time.Second, nil)
	dir := t.TempDir()
	p := prey{Server: os.Getpid(), File: filepath.Join(dir, "cluster.secret"), Dir: dir}
	if err := os.WriteFile(p.File, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.TCP = l.Addr().String()
	params, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 16
	tokens := make([]uint64, attempts)
	for i := range tokens {
		tokens[i] = uint64(i + 1)
	}
	b.assign("break", task.Payload{Encoding: task.JSON, Data: params}, tokens...)
	b.until("all have tried", func() bool { return len(b.reports) == attempts })
	hello := b.hellos[0].Wall
	if hello == nil || !slices.Contains(hello.InForce, wall.Seccomp) || !slices.Contains(hello.InForce, wall.NoNewPrivileges) {
		t.Fatalf("Hello says %+v", hello)
	}
	landlocked := slices.Contains(hello.InForce, wall.Landlock)
	if !landlocked {
		t.Logf("this kernel cannot refuse %q: %q", byPathOnly, hello.Missing)
	}
	for _, r := range b.reports {
		if r.Finish == nil || r.Finish.Error != nil {
			t.Fatalf("%+v", r)
		}
		var tried map[string]string
		if err := json.Unmarshal(r.Finish.Result.Data, &tried); err != nil || len(tried) < 14 {
			t.Fatalf("%s: %v", r.Finish.Result.Data, err)
		}
		for what, got := range tried {
			if slices.Contains(byPathOnly, what) && !landlocked {
				continue
			}
			if !strings.Contains(got, syscall.EPERM.Error()) && !strings.Contains(got, syscall.EACCES.Error()) {
				t.Errorf("%s: %s", what, got)
			}
		}
	}
	if got, err := os.ReadFile(p.File); err != nil || string(got) != "secret" {
		t.Errorf("the server's file: %q, %v", got, err)
	}
	seen, err := wall.Confirm(b.process().sub.PID(), wall.State(*hello))
	if err != nil || !slices.Equal(seen.InForce, hello.InForce) {
		t.Errorf("the kernel says %+v (%v), Hello says %+v", seen, err, hello)
	}
}
