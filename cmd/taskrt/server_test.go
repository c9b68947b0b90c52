package main

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/worker"
)

// output is what a command has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// supervised is a server whose supervisor is the test.
type supervised struct {
	t        *testing.T
	conn     *net.UnixConn
	out, err output
	code     chan int
}

// supervise starts a server, and waits until it has said that it is ready.
func supervise(ctx context.Context, t *testing.T, args ...string) *supervised {
	t.Helper()
	s := &supervised{t: t, code: make(chan int, 1)}
	socket := filepath.Join(t.TempDir(), "notify")
	var err error
	if s.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	go func() {
		s.code <- run(ctx, append([]string{"taskrt", "server"}, args...), strings.NewReader(""), &s.out, &s.err)
	}()
	s.told("READY=1")
	return s
}

// told waits for a message that begins so.
func (s *supervised) told(begins string) string {
	s.t.Helper()
	b := make([]byte, 64<<10)
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			s.t.Fatal(err)
		}
		n, err := s.conn.Read(b)
		if err != nil {
			s.t.Fatalf("waiting for %s: %v\n%s", begins, err, s.err.String())
		}
		if strings.HasPrefix(string(b[:n]), begins) {
			return string(b[:n])
		}
	}
}

// hangup asks for the settings to be read again, and returns what the supervisor is told of it.
func (s *supervised) hangup() string {
	s.t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.told("RELOADING=1")
	return s.told("READY=1")
}

func (s *supervised) url() string {
	s.t.Helper()
	_, url, _ := strings.Cut(strings.TrimSpace(s.out.String()), "ready ")
	return url
}

// TestSupervised: a server says that it is ready, is alive, reads its settings again at a SIGHUP and stops. What cannot be read changes nothing,
// and is named (SPEC C6).
func TestSupervised(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := "TASKRT_ID=n1\nTASKRT_DIR=" + filepath.Join(dir, "n1") + "\nTASKRT_HTTP=127.0.0.1:0\nTASKRT_RAFT=127.0.0.1:0\nTASKRT_WORKER=inline\n" +
		"TASKRT_CAPABILITIES=" + filepath.Join(dir, "grants.json") + "\n"
	write("env", settings)
	write("grants.json", `{"grants":[]}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := supervise(ctx, t, "--config", filepath.Join(dir, "env"))
	s.told("WATCHDOG=1")
	s.told("STATUS=ready: serves http://")
	push := func() (code int, said string) {
		var out, err output
		code = run(t.Context(), []string{"taskrt", "push", "../../testdata/wasm/http.wasm", "--server", s.url()}, strings.NewReader(""), &out, &err)
		return code, err.String()
	}
	if code, said := push(); code != exit.Refused || !strings.Contains(said, "capability_not_granted") {
		t.Fatalf("a module that is granted nothing: %d, %s", code, said)
	}

	write("grants.json", `{"grants":[{"namespace":"default","behavior":"*","htpp":[]}]}`)
	write("env", settings+"TASKRT_LOG_LEVEL=debug\n")
	if got := s.hangup(); !strings.Contains(got, "the former settings stay in force") || !strings.Contains(got, "htpp") {
		t.Errorf("a file that makes no sense: %q", got)
	}
	if strings.Contains(s.err.String(), "level=DEBUG") {
		t.Error("half of the settings were taken")
	}

	write("grants.json", `{"grants":[{"namespace":"default","behavior":"*","http":[{"hosts":["h.example"]}]}]}`)
	write("env", settings+"TASKRT_LOG_LEVEL=debug\nTASKRT_WORKER_SLOTS=3\n")
	if got := s.hangup(); got != "READY=1\nSTATUS=settings were read again" {
		t.Errorf("files that make sense: %q", got)
	}
	if code, said := push(); code != exit.OK {
		t.Errorf("a module that is granted what it needs: %d, %s", code, said)
	}
	for _, want := range []string{"level=DEBUG", "flags=[--worker-slots]"} {
		for end := time.Now().Add(time.Minute); !strings.Contains(s.err.String(), want); s.told("") {
			if time.Now().After(end) {
				t.Fatalf("the log has no %s:\n%s", want, s.err.String())
			}
		}
	}
	cancel()
	s.told("STOPPING=1")
	if code := <-s.code; code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}

// listing is everything below a directory, with times on request.
func listing(t *testing.T, dir string, times bool) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "n1" && !times { // a node runs in it, which writes
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + "\n")
		if times {
			b.WriteString(info.ModTime().String() + "\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestServerCheck: --check finds what a start would stumble over, and leaves everything as it is.
func TestServerCheck(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flags := []string{"--id", "n1", "--dir", filepath.Join(dir, "n1"), "--http", "127.0.0.1:0", "--raft", "127.0.0.1:0"}
	s := supervise(ctx, t, append(flags, "--worker", "inline")...)
	taken := strings.TrimPrefix(s.url(), "http://")
	quiet := false // nothing else writes
	check := func(more ...string) (code int, said string) {
		t.Helper()
		before := listing(t, dir, quiet)
		var out, err output
		code = run(t.Context(), append([]string{"taskrt", "server", "--check"}, more...), strings.NewReader(""), &out, &err)
		if after := listing(t, dir, quiet); after != before {
			t.Errorf("%v has changed files:\n%s\n%s", more, before, after)
		}
		return code, out.String() + err.String()
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := func(id, name string, more ...string) []string {
		return append([]string{"--id", id, "--dir", filepath.Join(dir, name), "--http", "127.0.0.1:0", "--raft", "127.0.0.1:0"}, more...)
	}
	s.told("STATUS=ready") // founding is over, so nothing is written but what a check writes
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{at("n2", "n2"), exit.OK, "node n2 may start\n"},
		{at("n1", "n1"), exit.OK, "it runs now"},
		{at("n2", "n1"), exit.Start, `belongs to node "n1"`},
		{at("n1", "n1", "--log-store", "wal"), exit.Start, "holds a log of bolt"},
		{at("n2", "n2", "--session-ttl", "1s"), exit.Usage, "at least 2s"},
		{at("n2", "file"), exit.Start, "not a directory"},
		{at("n2", "n2", "--cluster-secret", filepath.Join(dir, "none")), exit.File, "none"},
		{at("n2", "n2", "--capabilities", filepath.Join(dir, "file")), exit.Usage, "--capabilities"},
		{at("n2", "n2", "--run-log", filepath.Join(dir, "no", "log")), exit.Start, "--run-log"},
		{[]string{"--id", "n2", "--dir", filepath.Join(dir, "n2"), "--http", taken, "--raft", "127.0.0.1:0"}, exit.Start, "--http: "},
		{[]string{"--id", "n2", "--dir", filepath.Join(dir, "n2"), "--http", "0.0.0.0:0", "--raft", "127.0.0.1:0"}, exit.Usage, "can be reached by others"},
	} {
		if code, said := check(tc.args...); code != tc.code || !strings.Contains(said, tc.says) {
			t.Errorf("%v: %d, %q, want %d, %q", tc.args, code, said, tc.code, tc.says)
		}
	}
	cancel()
	if code := <-s.code; code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	quiet = true
	if code, said := check(flags...); code != exit.OK || strings.Contains(said, "runs now") {
		t.Errorf("the stopped node: %d, %q", code, said)
	}
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "n1"))); err != nil {
		t.Fatal(err)
	}
	if code, said := check(at("n1", "copy")...); code != exit.Start || !strings.Contains(said, "the directory is a copy") {
		t.Errorf("a copy: %d, %q", code, said)
	}
	if code, said := check(at("n1", "copy", "--as-new-disk")...); code != exit.OK {
		t.Errorf("a copy that is put aside: %d, %q", code, said)
	}
	if err := logstore.Check(filepath.Join(dir, "n1", "raft"), logstore.WAL); err == nil {
		t.Error("the check of another format proves nothing")
	}
}

// TestWorkerCheck: the same for a worker.
func TestWorkerCheck(t *testing.T) {
	dir := t.TempDir()
	check := func(more ...string) (code int, said string) {
		t.Helper()
		before := listing(t, dir, true)
		var out, err output
		code = run(t.Context(), append([]string{"taskrt", "worker", "--check", "--id", "w1", "--server", "http://127.0.0.1:1"}, more...), strings.NewReader(""), &out, &err)
		if after := listing(t, dir, true); after != before {
			t.Errorf("%v has changed files:\n%s\n%s", more, before, after)
		}
		return code, out.String() + err.String()
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "held"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := worker.Lock(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	at := func(name string, more ...string) []string {
		return append([]string{"--dir", filepath.Join(dir, name)}, more...)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{at("w1"), exit.OK, "worker w1 may start\n"},
		{at("held", "--metrics", ln.Addr().String()), exit.OK, "it runs now"},
		{at("w1", "--metrics", ln.Addr().String()), exit.Start, "--metrics: "},
		{at("file"), exit.Start, "not a directory"},
		{at("w1", "--run-log", filepath.Join(dir, "no", "log")), exit.Start, "--run-log"},
		{at("w1", "--cluster-secret", filepath.Join(dir, "none")), exit.File, "none"},
		{at("w1", "--capabilities", filepath.Join(dir, "file")), exit.Usage, "--capabilities"},
		{at("w1", "--server", "ftp://x"), exit.Usage, "--server"},
		{at("w1", "--worker", "none"), exit.Usage, "--worker none"},
	} {
		if code, said := check(tc.args...); code != tc.code || !strings.Contains(said, tc.says) {
			t.Errorf("%v: %d, %q, want %d, %q", tc.args, code, said, tc.code, tc.says)
		}
	}
	lock.Close()
	if code, said := check(at("held")...); code != exit.OK || strings.Contains(said, "runs now") {
		t.Errorf("the stopped worker: %d, %q", code, said)
	}
}
