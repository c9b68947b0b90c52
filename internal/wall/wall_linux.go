package wall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Raise shuts this process in, for good and with all its threads. It returns what is in force. What the kernel does not have is
// missing in the State; an error means that a part which the kernel has could not be raised, so that nothing of strangers may be
// executed here.
//
// Raise reads the state back from files of /proc that it opens first: behind the wall they cannot be opened any more.
func Raise(p Plan) (State, error) {
	_, _ = time.Now().Zone() // reads the zone's file, which the log needs
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return State{}, fmt.Errorf("wall: %w", err)
	}
	defer status.Close()
	if err := Close(); err != nil {
		return State{}, err
	}
	if err := limitFiles(p.Files); err != nil {
		return State{}, err
	}
	noPaths := landlockLacks() // behind the wall nobody could ask
	if err := restrictPaths(p); err != nil {
		return State{}, fmt.Errorf("wall: %s: %w", Landlock, err)
	}
	if err := loadFilter(p); err != nil {
		return State{}, fmt.Errorf("wall: %s: %w", Seccomp, err)
	}
	s, err := readBack(status, noPaths)
	if err != nil {
		return State{}, fmt.Errorf("wall: %w", err)
	}
	return s, nil
}

// Close makes sure that this process leaves no core, and that no process of the same user reads its memory (SPEC A9). Files of /proc/self then belong
// to root: what they are needed for must be done before.
func Close() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("wall: %s: %w", NoCore, err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // of the whole process: the memory has it
		return fmt.Errorf("wall: %s: %w", NotDumpable, err)
	}
	return nil
}

// limitFiles bounds the open files. A lower bound that is there already stays.
func limitFiles(most uint64) error {
	if most == 0 {
		return nil
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return fmt.Errorf("wall: limit of open files: %w", err)
	}
	most = min(most, now.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("wall: limit of open files: %w", err)
	}
	return nil
}

var errNotInForce = errors.New("not in force")

// readBack asks the kernel what is in force. status is the process's, and was opened before the wall. It is the status of the first thread, which has
// not raised the wall, or only by chance. noPaths says why there is no Landlock; nil: there is.
func readBack(status io.ReaderAt, noPaths error) (State, error) {
	text := make([]byte, 16<<10)
	n, err := status.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return State{}, err
	}
	var s State
	t := threadOf(text[:n])
	s.note(NoNewPrivileges, t.missing(t.noNewPrivileges))
	s.note(NotDumpable, notDumpable())
	s.note(NoCore, noCore())
	s.note(Seccomp, firstError(seccompLacks(), t.missing(t.filtered)))
	s.note(Landlock, firstError(noPaths, triedPath()))
	return s, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func notDumpable() error {
	d, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err == nil && d != 0 {
		err = errNotInForce
	}
	return err
}

func noCore() error {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_CORE, &l)
	if err == nil && l != (unix.Rlimit{}) {
		err = errNotInForce
	}
	return err
}

// thread is what the kernel says of one thread.
type thread struct{ noNewPrivileges, filtered bool }

func (thread) missing(is bool) error {
	if !is {
		return errNotInForce
	}
	return nil
}

// threadOf reads a status file of /proc.
func threadOf(status []byte) thread {
	value := func(name string) string {
		_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		return string(bytes.TrimSpace(line))
	}
	const filterMode = "2" // SECCOMP_MODE_FILTER
	return thread{noNewPrivileges: value("NoNewPrivs") == "1", filtered: value("Seccomp") == filterMode}
}

// Confirm looks at all threads of a process from outside, and takes out of its state what one of them lacks.
func Confirm(pid int, s State) (State, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return State{}, fmt.Errorf("wall: %w", err)
	}
	all := thread{true, true}
	for _, t := range threads {
		text, err := os.ReadFile(dir + "/" + t.Name() + "/status")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return State{}, fmt.Errorf("wall: %w", err)
		}
		one := threadOf(text)
		all.noNewPrivileges = all.noNewPrivileges && one.noNewPrivileges
		all.filtered = all.filtered && one.filtered
	}
	seen := State{Missing: s.Missing, OOMKills: s.OOMKills}
	for _, part := range s.InForce {
		lacks := part == NoNewPrivileges && !all.noNewPrivileges || part == Seccomp && !all.filtered
		if lacks {
			seen.note(part, errors.New("a thread is without it"))
		} else {
			seen.note(part, nil)
		}
	}
	return seen, nil
}

// onOneThread runs f on one thread, which matters where the kernel keeps something for each thread.
func onOneThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}
