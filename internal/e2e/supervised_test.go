package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaultIsNotBadUsage: a server and a worker that a watchdog aborts, as if they had a fault, end by the signal. Exit code 2, by which Go ends
// such programs, would keep a supervisor from starting them again (SPEC C10).
func TestFaultIsNotBadUsage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	for _, p := range []*process{c.addWorker("w1", 1), c.nodes[2]} {
		p.signal(syscall.SIGABRT)
		<-p.gone
		status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		log, err := os.ReadFile(filepath.Join(p.dir, "log"))
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT || err != nil || !strings.Contains(string(log), "SIGABRT: abort") {
			t.Errorf("%s: %v, %v\n%.2000s", p.id, p.cmd.ProcessState, err, log)
		}
	}
}

// notified is the socket on which processes tell the test, their supervisor, how they are.
type notified struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func listenNotified(t *testing.T) *notified {
	t.Helper()
	n := &notified{t: t, path: filepath.Join(t.TempDir(), "notify")}
	var err error
	if n.conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: n.path, Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.conn.Close() })
	return n
}

// told waits for a message that begins so, and returns it.
func (n *notified) told(begins string) string {
	n.t.Helper()
	b := make([]byte, 64<<10)
	for {
		if err := n.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			n.t.Fatal(err)
		}
		size, err := n.conn.Read(b)
		if err != nil {
			n.t.Fatalf("waiting for %s: %v", begins, err)
		}
		if strings.HasPrefix(string(b[:size]), begins) {
			return string(b[:size])
		}
	}
}

// TestSupervisedWorker: a worker says that it is ready before there is a cluster, for whom it works, and that it is alive. A SIGHUP lets it read its
// grants and the level of its log again; what cannot be read changes nothing, and is named (SPEC C6, C10).
func TestSupervisedWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		writeSecret(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	const grant = `{"secrets_dir": ".", "grants": [{"namespace": "default", "behavior": "secrets*", "secrets": ["mail-*"]}]}`
	write("mail-password", "hunter2")
	c := newCluster(t, "--worker", "none", "--capabilities", write("nodes.json", grant))
	c.push("secrets")

	n := listenNotified(t)
	w := &process{t: t, id: "w1", dir: t.TempDir(), env: []string{"NOTIFY_SOCKET=" + n.path, "WATCHDOG_USEC=300000"}}
	w.shareCode()
	settings := "TASKRT_ID=w1\nTASKRT_DIR=" + filepath.Join(w.dir, "data") + "\nTASKRT_SERVER=" + strings.Join(c.urls(), ",") + "\nTASKRT_CAPABILITIES=" +
		write("worker.json", `{"grants": []}`) + "\n"
	w.args = []string{"worker", "--config", write("env", settings)}
	w.start()
	c.workers = append(c.workers, w)
	n.told("READY=1\nSTATUS=has no session")
	n.told("STATUS=session ")
	n.told("WATCHDOG=1")
	name := write("name", "=mail-password")
	read := func() string { return c.taskrt(binary, "submit", "secrets", "--params-bytes", name, "--wait") }
	if got := read(); strings.Contains(got, "hunter2") {
		t.Fatal("a guest reads a secret that its worker grants to nobody")
	}
	hangup := func() string {
		w.signal(syscall.SIGHUP)
		n.told("RELOADING=1")
		return n.told("READY=1")
	}
	write("worker.json", strings.Replace(grant, "secrets_dir", "secret_dirs", 1))
	if got := hangup(); !strings.Contains(got, "the former settings stay in force") || !strings.Contains(got, "secret_dirs") {
		t.Errorf("a file that makes no sense: %q", got)
	}
	write("worker.json", grant)
	write("env", settings+"TASKRT_LOG_LEVEL=debug\nTASKRT_WORKER_SLOTS=3\n")
	if got := hangup(); !strings.Contains(got, "settings were read again") {
		t.Errorf("files that make sense: %q", got)
	}
	if log := w.log(); !strings.Contains(log, "log_level=DEBUG") || !strings.Contains(log, "flags=[--worker-slots]") {
		t.Errorf("the log says:\n%s", log)
	}
	if got := read(); !strings.Contains(got, "hunter2") {
		t.Errorf("a guest that is granted a secret now: %q", got)
	}
	w.signal(syscall.SIGTERM)
	n.told("STOPPING=1")
	<-w.gone
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
