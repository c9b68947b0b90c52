// Package supervisor tells the supervisor of this process how the process is: that it is ready, that it reads its settings again, that it stops,
// and that it is alive, as long as it is (sd_notify of systemd).
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Supervisor is who has started this process. Without one, nothing is told to anybody.
type Supervisor struct {
	log      *slog.Logger
	watchdog time.Duration  // how long this process may be silent; 0: nobody listens
	again    chan os.Signal // SIGHUP
}

// Open finds out whether there is a supervisor, by the variables NOTIFY_SOCKET and WATCHDOG_USEC. With or without one, from now on a fault of
// this program ends it by a signal, and a SIGHUP, however early it comes, does not end it.
func Open(log *slog.Logger) (*Supervisor, error) {
	EndBySignal(log)
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC: %w", err)
	}
	s := &Supervisor{log: log, watchdog: watchdog, again: make(chan os.Signal, 1)}
	signal.Notify(s.again, syscall.SIGHUP)
	return s, nil
}

// Close lets SIGHUP be what it was.
func (s *Supervisor) Close() { signal.Stop(s.again) }

// Process is a server or a worker, as its supervisor sees it.
type Process struct {
	Serves string                       // what it does, for people
	Alive  func(context.Context) error  // see Watch
	State  func(context.Context) string // see Watch
	Reload func() error                 // reads settings again; an error means that the former ones are in force
}

// Serve runs a process. It tells the supervisor that the process is ready, how it is, and that it stops, and reads its settings again at each
// SIGHUP.
func (s *Supervisor) Serve(ctx context.Context, p Process, run func(context.Context) error) error {
	s.Ready(p.Serves)
	watched, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, s.Stopping)
	go s.Watch(watched, p.Alive, p.State)
	go func() {
		for {
			select {
			case <-s.again:
				s.Reload(p.Reload)
			case <-watched.Done():
				return
			}
		}
	}()
	return run(ctx)
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

// shownEvery is how often the state is asked for, at least: a watchdog may have more patience than people have.
const shownEvery = 5 * time.Second

// Watch tells until ctx ends that this process is alive: three times in what the watchdog allows, each time that alive has returned nil. While alive
// returns an error, or does not return, the supervisor is told nothing, and in the end it starts the process again. state says how the process is,
// for people. It is told when it has changed, and it may hang as well.
func (s *Supervisor) Watch(ctx context.Context, alive func(context.Context) error, state func(context.Context) string) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	var both sync.WaitGroup
	defer both.Wait()
	every := shownEvery
	if feed := s.watchdog / 3; feed > 0 {
		every = min(every, feed)
		isAlive := question[error]{ask: alive}
		both.Go(func() { repeat(ctx, feed, func() { s.feed(ctx, isAlive.answer(ctx, feed, errHangs)) }) })
	}
	shows, last := question[string]{ask: state}, ""
	both.Go(func() {
		repeat(ctx, every, func() {
			if now := shows.answer(ctx, every, last); now != last && ctx.Err() == nil {
				s.tell(statusOf(now))
				last = now
			}
		})
	})
}

// feed feeds the watchdog, if the process is alive.
func (s *Supervisor) feed(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil: // nobody waited for an answer
	case err != nil:
		s.log.Error("the watchdog is not fed: this process does not do its work", "err", err, "patience", s.watchdog)
	default:
		s.tell(daemon.SdNotifyWatchdog)
	}
}

// repeat does something now and then every so often, until ctx ends.
func repeat(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
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
