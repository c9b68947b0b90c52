package subproc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is this program's file, also after another was put in its place.
func self() (string, error) { return "/proc/self/exe", nil }

// attributes of a child: the kernel ends it with its parent, even if it is stopped and reads no end of file. It begins in its cgroup: it is nowhere
// else before.
func attributes(dies bool, cgroup *os.File) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{}
	if cgroup != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(cgroup.Fd())
	}
	if dies {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}

// memoryFile is a file that lies in memory and has no name.
func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate("taskrt-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("subproc: memfd: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// seal forbids every further change of a memory file to all that hold it.
func seal(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	return err
}

func closeOnExec(f *os.File) { unix.CloseOnExec(int(f.Fd())) }

// preferAsVictim tells the kernel to end this process first when memory runs out, not the parent.
func preferAsVictim() error {
	return os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// Anonymous returns the bytes of memory that a process has to itself, in RAM or swapped out: heaps and guests' memory, not
// code and files, which are shared. known is false where the system does not say.
func Anonymous(pid int) (n int64, known bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false // it has ended
	}
	for _, name := range []string{"\nRssAnon:", "\nVmSwap:"} {
		_, rest, found := bytes.Cut(status, []byte(name))
		if !found {
			continue // a zombie has none
		}
		fields := bytes.Fields(rest[:min(len(rest), 64)])
		if len(fields) == 0 {
			continue
		}
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, false
		}
		n += kib << 10
	}
	return n, true
}
