package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen is the supervisor's end: it returns what it is told, one datagram after the other.
func listen(t *testing.T, watchdog string) (s *Supervisor, told func() string, log *strings.Builder) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", watchdog)
	t.Setenv("WATCHDOG_PID", "")
	log = &strings.Builder{}
	if s, err = Open(slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	return s, func() string {
		t.Helper()
		b := make([]byte, 4096)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}, log
}

func TestTold(t *testing.T) {
	s, told, log := listen(t, "")
	s.Ready("listens at\nhttp://x")
	if got := told(); got != "READY=1\nSTATUS=listens at http://x" {
		t.Errorf("ready: %q", got)
	}
	read := false
	s.Reload(func() error { read = true; return errors.New("grants[0].x: wrong") })
	if got := told(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(got, "=0") || !read {
		t.Errorf("reloading: %q, read: %v", got, read)
	}
	if got := told(); got != "READY=1\nSTATUS=the former settings stay in force: grants[0].x: wrong" {
		t.Errorf("reloaded: %q", got)
	}
	if !strings.Contains(log.String(), "grants[0].x: wrong") {
		t.Errorf("the log does not say what is wrong: %s", log)
	}
	s.Stopping()
	if got := told(); got != "STOPPING=1\nSTATUS=stopping" {
		t.Errorf("stopping: %q", got)
	}
}

// TestWatchdogIsFedByHealth: what is not alive feeds nobody, whether it says so or hangs; when it recovers it is fed again.
func TestWatchdogIsFedByHealth(t *testing.T) {
	s, told, _ := listen(t, "30000") // asked every 10 ms
	var sick atomic.Bool
	var n, sickened atomic.Int64
	hangs := make(chan struct{})
	entered := make(chan struct{}, 1)
	alive := func(ctx context.Context) error {
		select {
		case <-hangs:
		default:
			select {
			case entered <- struct{}{}:
			default:
			}
			<-hangs // without a look at ctx, as a lock is
		}
		if sick.Load() {
			sickened.Add(1)
			return errors.New("sick")
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, alive, func(context.Context) string { return fmt.Sprintf("state %d, sick %d", n.Add(1), sickened.Load()) })
	}()
	<-entered
	for range 5 { // the state goes on being told, so Watch has asked again meanwhile
		if got := told(); !strings.HasPrefix(got, "STATUS=state ") {
			t.Fatalf("fed while the process hangs: %q", got)
		}
	}
	close(hangs)
	for told() != "WATCHDOG=1" {
	}
	sick.Store(true)
	for text := told(); text == "WATCHDOG=1" || strings.HasSuffix(text, "sick 0"); text = told() { // from before
	}
	for range 5 {
		if told() == "WATCHDOG=1" {
			t.Fatal("fed while the process says that it is sick")
		}
	}
	sick.Store(false)
	for told() != "WATCHDOG=1" {
	}
	cancel()
	<-done
}

// TestNoSupervisor: without one nothing is asked, and nothing is told.
func TestNoSupervisor(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		t.Setenv(name, "")
	}
	log := &strings.Builder{}
	s, err := Open(slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.Ready("x")
	s.Stopping()
	s.Watch(t.Context(), func(context.Context) error { t.Error("asked"); return nil }, func(context.Context) string { return "" })
	if log.Len() > 0 {
		t.Errorf("it complains: %s", log)
	}
	t.Setenv("WATCHDOG_USEC", "soon")
	if _, err := Open(slog.Default()); err == nil || !strings.Contains(err.Error(), "WATCHDOG_USEC") {
		t.Errorf("a watchdog of %q: %v", "soon", err)
	}
}
