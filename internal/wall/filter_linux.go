package wall

import (
	"errors"
	"fmt"
	"os"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// calls are the system calls that go on as before. They serve Go's runtime, package os for open files, messages over open sockets, and an engine that
// maps code. None of them reaches another process, a path or the network. Names that an architecture does not have are left out. RATIONALE.md says
// why this is a list of what is allowed.
var calls = []string{
	// Bytes of open files and sockets.
	"read", "readv", "pread64", "preadv", "write", "writev", "pwrite64", "pwritev", "lseek", "_llseek", "close", "dup", "dup3", "pipe2",
	"fstat", "fstat64", "ftruncate", "ftruncate64", "fsync", "fdatasync", "getdents64",
	"sendmsg", "recvmsg", "sendto", "recvfrom", "send", "recv", "shutdown", "getsockopt", "setsockopt", "getsockname", "getpeername",
	"epoll_create1", "epoll_create", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2", "poll", "ppoll", "ppoll_time64",
	// What is known of a path, without opening it.
	"stat", "lstat", "stat64", "lstat64", "newfstatat", "fstatat64", "statx", "readlinkat", "faccessat", "faccessat2", "getcwd",
	// Memory.
	"mmap", "mmap2", "munmap", "mprotect", "mremap", "madvise", "mincore", "brk", "memfd_create", "membarrier",
	// Threads, time and signals of this process.
	"futex", "futex_time64", "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "clock_gettime", "clock_gettime64", "clock_getres",
	"gettimeofday", "time", "sched_yield", "sched_getaffinity", "getcpu", "rseq", "set_robust_list", "set_tid_address", "arch_prctl",
	"set_thread_area", "set_tls", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "sigaltstack", "restart_syscall",
	"setitimer", "timer_create", "timer_settime", "timer_settime64", "timer_delete", "exit", "exit_group",
	// Who and where the process is.
	"gettid", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32", "getgid32", "getegid32",
	"uname", "sysinfo", "getrusage", "times", "getrlimit", "ugetrlimit", "getrandom",
}

// refusedAtTimes are allowed unless a refusal says otherwise.
var refusedAtTimes = []string{"clone", "socketpair", "tgkill", "kill", "ioctl", "prctl", "prlimit64", "fcntl", "fcntl64", "openat"}

// writerCalls are the further calls of a process that writes files below a directory.
var writerCalls = []string{
	"mkdirat", "unlinkat", "renameat", "renameat2", "fchmodat", "fchmodat2", "fchmod", "utimensat", "utimensat_time64",
}

// absentCalls are answered as an older kernel would: their callers know what to do then. An argument of theirs is a pointer, which no
// filter can follow.
var absentCalls = []string{"clone3", "openat2"}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	// tmpFile is the bit of O_TMPFILE that O_DIRECTORY does not have.
	tmpFile     = unix.O_TMPFILE &^ unix.O_DIRECTORY
	writing     = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | tmpFile
	pagemapScan = 0xc0606610 // PAGEMAP_SCAN of linux/fs.h
	setVMA      = 0x53564d41 // PR_SET_VMA of linux/prctl.h: names for mappings, which Go gives
)

// refusal is a system call of the list that is refused with certain arguments: with the arguments of any of its sets.
type refusal struct {
	name string
	sets []seccomp.ArgumentConditions
}

// refusals are the arguments that the list of calls does not look at. Arguments count from 0.
func refusals(pid uint64, writer bool) []refusal {
	bits := func(arg uint32, value uint64) seccomp.ArgumentConditions {
		return seccomp.ArgumentConditions{{Argument: arg, Operation: seccomp.BitsSet, Value: value}}
	}
	noneOf := func(arg uint32, values ...uint64) (set seccomp.ArgumentConditions) {
		for _, v := range values {
			set = append(set, seccomp.Condition{Argument: arg, Operation: seccomp.NotEqual, Value: v})
		}
		return set
	}
	one := func(name string, set seccomp.ArgumentConditions) refusal {
		return refusal{name, []seccomp.ArgumentConditions{set}}
	}
	commands := noneOf(1, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_ADD_SEALS, unix.F_GET_SEALS)
	list := []refusal{
		{"clone", []seccomp.ArgumentConditions{ // all but a thread
			{{Argument: 0, Operation: seccomp.BitsNotSet, Value: unix.CLONE_THREAD}}, bits(0, newNamespaces),
		}},
		// Two ends of a stream reach nobody else. An end of a pair of another type could be sent to any address.
		{"socketpair", []seccomp.ArgumentConditions{
			noneOf(0, unix.AF_UNIX), bits(1, 0xffffffff&^(unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)),
		}},
		one("tgkill", noneOf(0, pid)), one("kill", noneOf(0, pid)), // Go interrupts its own threads
		one("ioctl", noneOf(1, pagemapScan)),
		one("prctl", noneOf(0, setVMA, unix.PR_GET_DUMPABLE)),
		one("prlimit64", noneOf(2, 0)),                   // 0: looks, and sets nothing
		one("fcntl", commands), one("fcntl64", commands), // others name who gets a signal
	}
	if !writer {
		list = append(list, one("openat", bits(2, writing)))
	}
	return list
}

// policies are the filters for this process, in the order in which they are loaded: the last is the list, and allows no further one.
// What is not allowed fails with EPERM, so that a surprise is an error with a name.
//
// Each refusal is a filter of its own, because the library compares an argument with the numbers of further calls once it has looked
// at arguments (RATIONALE.md). The kernel obeys the strictest of all filters.
func policies(p Plan, known map[string]int) []seccomp.Policy {
	writer := len(p.Writes) > 0
	var list []seccomp.Policy
	for _, r := range refusals(uint64(os.Getpid()), writer) {
		if _, is := known[r.name]; !is {
			continue
		}
		refuse := seccomp.SyscallGroup{Action: seccomp.ActionErrno}
		for _, set := range r.sets {
			refuse.NamesWithCondtions = append(refuse.NamesWithCondtions, seccomp.NameWithConditions{Name: r.name, Conditions: set})
		}
		list = append(list, seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{refuse}})
	}
	allow := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	absent := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)}
	add := func(g *seccomp.SyscallGroup, names []string) {
		for _, name := range names {
			if _, is := known[name]; is {
				g.Names = append(g.Names, name)
			}
		}
	}
	add(&allow, calls)
	add(&allow, refusedAtTimes)
	if writer {
		add(&allow, writerCalls)
	}
	add(&absent, absentCalls)
	return append(list, seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{allow, absent}})
}

// seccompLacks says why there can be no filter here; nil: there can.
func seccompLacks() error {
	if info, err := arch.GetInfo(""); err != nil || len(info.SyscallNames) == 0 {
		return errors.New("not supported for this architecture")
	}
	return nil
}

// loadFilter puts the filter in force in all threads.
func loadFilter(p Plan) error {
	if seccompLacks() != nil {
		return nil //nolint:nilerr // what lacks is shown, and is no failure
	}
	if !seccomp.Supported() {
		return unsupportedHere()
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return err
	}
	return onOneThread(func() error { // no_new_privs is a thread's own until a filter comes with it
		if err := seccomp.SetNoNewPrivs(); err != nil {
			return err
		}
		for _, policy := range policies(p, info.SyscallNames) {
			if err := seccomp.LoadFilter(seccomp.Filter{Flag: seccomp.FilterFlagTSync, Policy: policy}); err != nil {
				return err
			}
		}
		return nil
	})
}

// unsupportedHere leaves the filter out where the kernel has none. no_new_privs is set all the same.
func unsupportedHere() error {
	if err := seccomp.SetNoNewPrivs(); err != nil {
		return fmt.Errorf("%s: %w", NoNewPrivileges, err)
	}
	return nil
}
