package logstore

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// tracedCalls are all calls that change files, or say which file another call is about. A call with "?" is traced where
// the machine has it.
const tracedCalls = "?open,openat,?openat2,?creat,close,?close_range,dup,?dup2,dup3,lseek,write,pwrite64,writev,pwritev,pwritev2,?truncate,ftruncate," +
	"fallocate,fsync,fdatasync,sync,syncfs,sync_file_range,?rename,?renameat,renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat,?rmdir,?mkdir,mkdirat," +
	"?mknod,mknodat,chdir,fchdir,?sendfile,copy_file_range,splice,io_uring_setup,mmap,msync"

// needStrace skips the test, and says so, if processes cannot be traced. A container may forbid ptrace.
func needStrace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	out, err := leash.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "true").CombinedOutput()
	if err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: strace cannot trace processes here: %v\n%s", err, out)
	}
}

// death says before which sync a process dies: the nth call of this name. From then on these calls fail and do nothing.
type death struct {
	call string
	nth  int
}

var never death

// traced runs a child under strace.
func (s *suite) traced(steps int, dies death) []event {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "trace")
	args := []string{"-f", "--seccomp-bpf", "-qq", "-xx", "-s", strconv.Itoa(64 << 20), "-e", "signal=none", "-e", "trace=" + tracedCalls, "-o", file}
	if dies != never {
		args = append(args, "-e", fmt.Sprintf("inject=%s:error=EIO:when=%d+", dies.call, dies.nth))
	}
	cmd := leash.CommandContext(s.t.Context(), "strace", append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), "LOGSTORE_CHILD="+s.dir, "LOGSTORE_KIND="+string(s.kind), "LOGSTORE_STEPS="+strconv.Itoa(steps))
	out, err := cmd.CombinedOutput()
	if err != nil && (dies == never || !strings.Contains(string(out), "failed ")) {
		s.t.Fatalf("%v\n%s", err, out)
	}
	events, err := readTrace(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return events
}

// event is a line of a trace: the beginning of a call, its end, or both.
type event struct {
	begin, end bool
	call       *call
}

// call is a call of the kernel by a thread.
type call struct {
	name string
	args []string
	ret  int64

	file     *opened // the file that a sync is about
	promised int     // how many changes the sync is about
}

// readTrace reads strace's output.
func readTrace(file string) ([]event, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var events []event
	open := map[string]*call{}  // the open call of a thread
	half := map[string]string{} // the text that strace has printed of the thread's open call
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line == "" {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the trace ends with %q: %w", line, err)
		}
		thread, line, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		line = strings.TrimLeft(line, " ")
		if strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---") {
			continue
		}
		e := event{begin: true, end: true, call: &call{}}
		if rest, resumed := strings.CutPrefix(line, "<... "); resumed {
			_, rest, _ = strings.Cut(rest, " resumed>")
			e.begin, e.call, line = false, open[thread], half[thread]+rest
			if e.call == nil {
				return nil, fmt.Errorf("the end of a call that never began: %.200q", line)
			}
		}
		if begun, unfinished := strings.CutSuffix(line, " <unfinished ...>"); unfinished {
			e.end, open[thread], half[thread] = false, e.call, begun
			line = begun + ") = 0"
		}
		if err := e.call.parse(line); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
}

func (c *call) parse(line string) error {
	name, rest, ok := strings.Cut(line, "(")
	at := strings.LastIndex(rest, " = ")
	if !ok || at < 0 {
		return fmt.Errorf("cannot read %.200q in a trace", line)
	}
	ret, _, _ := strings.Cut(rest[at+3:], " ")
	c.name, c.ret = name, -1
	if ret != "?" { // with "?" the call never came back
		n, err := strconv.ParseUint(ret, 0, 64)
		if err == nil {
			c.ret = int64(n)
		} else if !strings.HasPrefix(ret, "-") {
			return fmt.Errorf("cannot read %.200q in a trace: %w", line, err)
		}
	}
	c.args = strings.Split(strings.TrimSuffix(strings.TrimRight(rest[:at], " "), ")"), ", ")
	return nil
}

// num returns argument i as a number, or -1.
func (c *call) num(i int) int64 {
	if i >= len(c.args) {
		return -1
	}
	n, err := strconv.ParseInt(c.args[i], 0, 64)
	if err != nil {
		return -1
	}
	return n
}

// bytes returns the memory of argument i, which strace prints with -xx.
func (c *call) bytes(i int) ([]byte, error) {
	if i < len(c.args) {
		if text, ok := strings.CutPrefix(c.args[i], `"`); ok {
			if text, ok = strings.CutSuffix(text, `"`); ok {
				return hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
			}
		}
	}
	return nil, fmt.Errorf("no bytes: %s(%.200q)", c.name, c.args)
}

func (c *call) has(i int, flag string) bool {
	return i < len(c.args) && strings.Contains("|"+c.args[i]+"|", "|"+flag+"|")
}

// process knows what calls refer to: the open files, by their numbers.
type process struct {
	root  string
	disk  *inode
	files map[int64]*opened
	said  func(line string)
}

type opened struct {
	*inode
	pos int64
}

var errNotModelled = errors.New("the test knows nothing of this call")

// apply does what an event did.
func (p *process) apply(e event) error {
	c := e.call
	f := p.files[c.num(0)]
	if e.begin { // Closing frees the number at its beginning. A sync is about the changes before its beginning.
		switch {
		case f == nil:
		case c.name == "close":
			delete(p.files, c.num(0))
		case c.name == "fsync" || c.name == "fdatasync":
			c.file, c.promised = f, f.changes()
		}
	}
	if !e.end || c.ret < 0 {
		return nil
	}
	var err error
	switch c.name {
	case "openat":
		err = p.open(c)
	case "mkdirat", "unlinkat", "renameat", "renameat2":
		err = p.rename(c)
	case "mmap":
		if m := p.files[c.num(4)]; m != nil && c.has(2, "PROT_WRITE") && c.has(3, "MAP_SHARED") {
			err = errNotModelled
		}
	case "write":
		if c.num(0) == 1 {
			b, err := c.bytes(1)
			for line := range strings.Lines(string(b)) {
				p.said(strings.TrimSuffix(line, "\n"))
			}
			return err
		}
		fallthrough
	default:
		err = p.file(f, c)
	}
	if err != nil {
		return fmt.Errorf("%s(%.300q) = %d: %w", c.name, c.args, c.ret, err)
	}
	return nil
}

// file does a call on an open file.
func (p *process) file(f *opened, c *call) error {
	switch c.name {
	case "chdir", "sync", "syncfs", "rename", "link", "linkat", "symlink", "symlinkat", "unlink", "rmdir", "mkdir", "mknod", "mknodat", "truncate", "creat", "open", "openat2", "io_uring_setup":
		return errNotModelled
	case "close", "msync": // no mapping is ever written to
		return nil
	}
	if c.file != nil {
		c.file.sync(c.promised)
		return nil
	}
	if f == nil {
		return nil // the file lies elsewhere
	}
	switch c.name {
	case "lseek":
		f.pos = c.ret
	case "write", "pwrite64":
		b, err := c.bytes(1)
		if err != nil {
			return err
		}
		at := c.num(3)
		if c.name == "write" {
			at, f.pos = f.pos, f.pos+c.ret
		}
		f.change(at, b[:c.ret], max(int64(len(f.content)), at+c.ret))
	case "ftruncate":
		f.change(0, nil, c.num(1))
	case "fallocate":
		if c.args[1] != "0" {
			return errNotModelled
		}
		end := c.num(2) + c.num(3)
		f.allocated = max(f.allocated, end)
		f.change(0, nil, max(int64(len(f.content)), end))
	case "sync_file_range": // it promises nothing
	default:
		return errNotModelled
	}
	return nil
}

// find returns the directory of a path, and the name in it. Arguments i and i+1 give the path. The directory is nil if
// the path lies elsewhere.
func (p *process) find(c *call, i int) (*inode, string, error) {
	b, err := c.bytes(i + 1)
	if err != nil {
		return nil, "", err
	}
	path, dir := string(b), p.disk
	if !filepath.IsAbs(path) {
		f := p.files[c.num(i)]
		if f == nil {
			return nil, "", nil
		}
		dir = f.inode
	} else if path, err = filepath.Rel(p.root, path); err != nil || path == ".." || strings.HasPrefix(path, "../") {
		return nil, "", err
	}
	names := strings.Split(filepath.Clean(path), "/")
	for _, name := range names[:len(names)-1] {
		if dir = dir.now[name]; dir == nil {
			return nil, "", fmt.Errorf("%s: %w", path, unix.ENOENT)
		}
	}
	return dir, names[len(names)-1], nil
}

func (p *process) open(c *call) error {
	dir, name, err := p.find(c, 0)
	if err != nil || dir == nil {
		return err
	}
	for _, flag := range []string{"O_SYNC", "O_DSYNC", "O_DIRECT", "O_APPEND", "O_TMPFILE"} {
		if c.has(2, flag) {
			return errNotModelled
		}
	}
	at := dir.now[name]
	if name == "." {
		at = dir
	}
	switch {
	case at == nil && c.has(2, "O_CREAT"):
		at = &inode{}
		dir.enter(step{name: name, at: at})
	case at == nil:
		return unix.ENOENT
	case c.has(2, "O_TRUNC"):
		at.change(0, nil, 0)
	}
	p.files[c.ret] = &opened{inode: at}
	return nil
}

// rename does a call that changes a directory.
func (p *process) rename(c *call) error {
	dir, name, err := p.find(c, 0)
	if err != nil || dir == nil {
		return err
	}
	switch c.name {
	case "mkdirat":
		dir.enter(step{name: name, at: &inode{now: map[string]*inode{}, disk: map[string]*inode{}}})
	case "unlinkat":
		dir.enter(step{name: name})
	default:
		to, newName, err := p.find(c, 2)
		if err != nil {
			return err
		}
		if to != dir || len(c.args) > 4 && c.args[4] != "0" {
			return errNotModelled
		}
		dir.enter(step{name: newName, from: name, at: dir.now[name]})
	}
	return nil
}
