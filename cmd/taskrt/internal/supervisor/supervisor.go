// Package supervisor tells the supervisor of this process how the process is: that it is ready, that it reads its settings again, that it stops,
// and that it is alive, as long as it is (sd_notify of systemd).
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Supervisor is who has started this process. Without one, nothing is told to anybody.
type Supervisor struct {
	log      *slog.Logger
	watchdog time.Duration // how long this process may be silent; 0: nobody listens
}

// Open finds out whether there is a supervisor, by the variables NOTIFY_SOCKET and WATCHDOG_USEC. With or without one, a fault of this program
// ends it by a signal from now on.
func Open(log *slog.Logger) (*Supervisor, error) {
	EndBySignal(log)
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC: %w", err)
	}
	return &Supervisor{log: log, watchdog: watchdog}, nil
}

// tell sends lines of NAME=VALUE.
func (s *Supervisor) tell(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		s.log.Warn("cannot tell the supervisor", "what", lines[0], "err", err)
	}
}

// Ready says that this process serves.
func (s *Supervisor) Ready(status string) { s.tell(daemon.SdNotifyReady, statusOf(status)) }

// Reload calls read, which reads settings again, and says before it that it is done, and after it that this process serves on. An error is
// told, too: then the former settings are in force.
func (s *Supervisor) Reload(read func() error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		s.log.Warn("no monotonic clock", "err", err)
	}
	s.tell(daemon.SdNotifyReloading, fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
	status := "settings were read again"
	if err := read(); err != nil {
		s.log.Error("the settings cannot be read again: the former ones stay in force", "err", err)
		status = "the former settings stay in force: " + err.Error()
	}
	s.Ready(status)
}

// Stopping says that this process ends.
func (s *Supervisor) Stopping() { s.tell(daemon.SdNotifyStopping, statusOf("stopping")) }

// statusOf is a line for people. A text of several lines would be several variables.
func statusOf(text string) string { return "STATUS=" + strings.Join(strings.Fields(text), " ") }

// unwatchedEvery is how often the state is asked for when there is no watchdog.
const unwatchedEvery = 5 * time.Second

// Watch tells until ctx ends that this process is alive: three times in what the watchdog allows, each time that alive has returned nil. While
// alive returns an error, or does not return, nothing is told, and in the end the supervisor starts the process again. state says how the process
// is, for people; it is told when it has changed, and may hang as well.
func (s *Supervisor) Watch(ctx context.Context, alive func(context.Context) error, state func(context.Context) string) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	every := s.watchdog / 3
	if every == 0 {
		every = unwatchedEvery
	}
	isAlive, shows := question[error]{ask: alive}, question[string]{ask: state}
	last := ""
	for tick := time.NewTicker(every); ; {
		err := isAlive.answer(ctx, every, errHangs)
		switch {
		case ctx.Err() != nil:
			tick.Stop()
			return
		case err != nil:
			s.log.Error("the watchdog is not fed: this process does not do its work", "err", err, "patience", s.watchdog)
		case s.watchdog > 0:
			s.tell(daemon.SdNotifyWatchdog)
		}
		if now := shows.answer(ctx, every, last); now != last && ctx.Err() == nil {
			s.tell(statusOf(now))
			last = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// errHangs is why the watchdog is not fed when a question is not answered.
var errHangs = errors.New("it does not answer")

// question is a function that may hang. While a call hangs there is no other one.
type question[T any] struct {
	ask     func(context.Context) T
	pending chan T // nil: no call is under way
}

// answer waits for an answer, no longer than patience. Without one it returns none. An answer that came late counts when it is waited for next.
func (q *question[T]) answer(ctx context.Context, patience time.Duration, none T) T {
	ctx, cancel := context.WithTimeout(ctx, patience)
	if q.pending == nil {
		pending := make(chan T, 1)
		q.pending = pending
		go func() { defer cancel(); pending <- q.ask(ctx) }()
	} else {
		defer cancel()
	}
	select {
	case v := <-q.pending:
		q.pending = nil
		return v
	case <-ctx.Done():
		return none
	}
}
