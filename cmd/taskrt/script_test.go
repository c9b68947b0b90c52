package main

import (
	"bufio"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskrt/taskrt/internal/leash"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // most of these tests wait for processes: more of them at once than there are cores; a flag goes first
	testscript.Main(private{m}, map[string]func(){"taskrt": tied})
}

// private runs the tests without the contexts and the tokens of whoever runs them.
type private struct{ *testing.M }

// Run runs the tests.
func (p private) Run() int {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	set := map[string]string{"XDG_CONFIG_HOME": dir}
	if config, err := os.UserConfigDir(); err == nil && os.Getenv("GOENV") == "" {
		set["GOENV"] = filepath.Join(config, "go", "env") // tests build plugins with the user's settings of Go
	}
	for _, name := range []string{"SERVER", "CA", "TOKEN", "TOKEN_FILE", "CONTEXT", "NAMESPACE"} {
		if err := os.Unsetenv("TASKRT_" + name); err != nil {
			panic(err)
		}
	}
	for name, value := range set {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return p.M.Run()
}

// tie lets the programs of a script be tied to this process.
func tie(e *testscript.Env) error {
	name, value, err := leash.Environment()
	e.Setenv(name, value)
	return err
}

// tied is the program as scripts start it: it ends with their test.
func tied() {
	if err := leash.Join(); err != nil {
		panic(err)
	}
	main()
}

// patience bounds every wait for a process of these tests.
const patience = 5 * time.Minute

// TestShell runs testdata/script/*.txtar: every command of the binary as its users type it. Beside the commands of
// testscript there are
//
//	start VAR taskrt ARG…   starts a server in the background; VAR is set to the URL of its ready line
//	stop VAR [CODE]         interrupts it and waits for it to exit with CODE (default 0)
//	exits CODE taskrt ARG…  runs a command that must exit with exactly this code
func TestShell(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams(t, "testdata/script"))
}

// scriptParams are what the scripts of a directory need.
func scriptParams(t *testing.T, dir string) testscript.Params {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("WASM", filepath.Join(root, "testdata", "wasm"))
			e.Setenv("SDK", root)
			for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // for scripts that build plugins: those of this test
				dir, err := leash.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(dir)))
			}
			e.Values[daemonsKey{}] = map[string]*daemon{}
			return tie(e)
		},
		Condition: func(name string) (bool, error) {
			if name == "cluster" {
				return !testing.Short(), nil
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"start": start, "end": end, "exits": exits, "longer": longer},
		RequireExplicitExec: true,
	}
}

// These are keys of a script's values: its daemons, and the binary of its servers, "" for this build.
type (
	daemonsKey struct{}
	serverKey  struct{}
)

// start runs a server in the background.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start VAR PROGRAM ARG…")
	}
	if exe, _ := ts.Value(serverKey{}).(string); exe != "" {
		args[1] = exe
	}
	d, err := startDaemon(args[1:], ts.Getenv("WORK"), []string{"HOME=" + ts.Getenv("WORK"), "TMPDIR=" + ts.Getenv("TMPDIR")})
	ts.Check(err)
	ts.Defer(d.kill)
	ts.Value(daemonsKey{}).(map[string]*daemon)[args[0]] = d
	ts.Setenv(args[0], d.url)
}

// end interrupts what start started. The library has a command stop, which ends the script and calls it a success.
func end(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: end VAR [CODE]")
	}
	want := 0
	if len(args) == 2 {
		want, _ = strconv.Atoi(args[1])
	}
	d := ts.Value(daemonsKey{}).(map[string]*daemon)[args[0]]
	if d == nil {
		ts.Fatalf("%s was not started", args[0])
	}
	if code := d.stop(); code != want {
		ts.Fatalf("exit code %d, want %d; it said:\n%s", code, want, d.log())
	}
}

// exits runs a command to its end.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// longer runs a measurement for a short time, and for a longer one where the machine is too busy for anything to be answered in it.
func longer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: longer taskrt bench ARG…")
	}
	for _, d := range []string{"600ms", "5s", "30s"} {
		err := ts.Exec(args[0], append(args[1:len(args):len(args)], "--for", d)...)
		if err == nil {
			return
		}
		if !strings.Contains(ts.ReadFile("stderr"), "make it longer") {
			ts.Fatalf("%v", err)
		}
	}
	ts.Fatalf("nothing is answered in half a minute")
}

// daemon is a taskrt process in the background.
type daemon struct {
	cmd    *exec.Cmd
	url    string
	stderr *os.File
	more   chan string // lines that it prints after its ready line
	exited chan struct{}
}

// startDaemon starts a server and waits for its ready line.
func startDaemon(args []string, dir string, env []string) (*daemon, error) {
	stderr, err := os.CreateTemp(dir, "stderr")
	if err != nil {
		return nil, err
	}
	cmd := leash.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, stderr
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &daemon{cmd: cmd, stderr: stderr, more: make(chan string, 1000), exited: make(chan struct{})}
	ready := make(chan string, 1)
	go func() {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- strings.TrimSpace(line)
		for next := bufio.NewScanner(r); next.Scan(); {
			select {
			case d.more <- next.Text():
			default: // nobody reads
			}
		}
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait() // after the last byte, as StdoutPipe asks
		close(d.exited)
	}()
	select {
	case line := <-ready:
		url, ok := strings.CutPrefix(line, "ready ")
		if !ok {
			d.kill()
			return nil, errors.New("no ready line but " + strconv.Quote(line) + "; it said:\n" + d.log())
		}
		d.url = url
		return d, nil
	case <-time.After(patience):
		d.kill()
		return nil, errors.New("not ready in time; it said:\n" + d.log())
	}
}

// stop interrupts the process and returns its exit code; -1 if it had to be killed.
func (d *daemon) stop() int {
	_ = d.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-d.exited:
	case <-time.After(patience):
		d.kill()
		return -1
	}
	return d.cmd.ProcessState.ExitCode()
}

func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.exited
	_ = d.stderr.Close()
}

func (d *daemon) log() string {
	b, _ := os.ReadFile(d.stderr.Name())
	return string(b)
}
