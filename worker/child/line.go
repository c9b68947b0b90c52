package child

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// line is one stream of the child to a leader. Code of a guest may have taken the child over. So each frame of the child is looked at before it goes
// on (SPEC A10). The frame must speak as the worker that the child is, and of attempts that the leader has given to it. It must say nothing that a
// child of this build would not say. A child that says anything else has broken its contract.
type line struct {
	c *process

	mu    sync.Mutex
	begun bool
	hello time.Duration            // CLOCK_BOOTTIME before Hello passed
	sent  map[uint64]time.Duration // CLOCK_BOOTTIME before each Renew without an answer passed
}

const (
	// maxInline bounds in bytes what a report carries of a result, a checkpoint, a progress or an error. Longer ones are blobs.
	maxInline = 64 << 10
	// maxRenewals bounds the unanswered renewals of one stream. A leader ends a stream already at fewer.
	maxRenewals = 64
	// maxStreams bounds the streams of a child that are open at the same time: one, and those that the child has given up.
	maxStreams = 64
	// frameMemory bounds the large frames of a child that are being looked at.
	frameMemory = 4 * stream.MaxFrame
	// writeTime is how long a leader may take nothing.
	writeTime  = 10 * time.Second
	writeChunk = 64 << 10
)

// breach is what a child has said that it may not say.
type breach struct {
	token uint64 // of the attempt that it has named; 0: none
	err   error
}

func (b *breach) Error() string {
	if b.token == 0 {
		return b.err.Error()
	}
	return fmt.Sprintf("token %d: %v", b.token, b.err)
}

func (b *breach) Unwrap() error { return b.err }

var errNotSaid = errors.New("a frame that workers do not send")

// look is asked before a frame of the child goes on.
func (l *line) look(f *stream.Frame) error {
	if err := l.order(f); err != nil {
		return err
	}
	given := l.c.leases
	switch {
	case f.Hello != nil:
		return l.c.mayHello(f.Hello)
	case len(f.Reports) > 0:
		for i := range f.Reports {
			if err := l.c.mayReport(&f.Reports[i]); err != nil {
				return err
			}
		}
	case len(f.Logs) > 0:
		for i := range f.Logs {
			if err := given.logged(&f.Logs[i]); err != nil {
				return &breach{f.Logs[i].Token, fmt.Errorf("its log: %w", err)}
			}
		}
	case len(f.Progress) > 0:
		for i := range f.Progress {
			p := &f.Progress[i]
			if _, err := given.of(p.Token, p.Key); err != nil {
				return &breach{p.Token, fmt.Errorf("its progress: %w", err)}
			}
			if err := short("progress", &p.Progress); err != nil {
				return &breach{p.Token, err}
			}
		}
	case f.Ask != nil:
		if _, err := given.of(f.Ask.Token, f.Ask.Key); err != nil {
			return &breach{f.Ask.Token, fmt.Errorf("its question: %w", err)}
		}
	case len(f.Ready) > 0:
		return l.c.mayBeReady(f.Ready)
	case len(f.Unready) > 0:
		return given.mayMake(f.Unready)
	case len(f.Pace) > 0:
		for _, p := range f.Pace {
			if !given.hasRun(p.Behavior) {
				return fmt.Errorf("the pace of %+v, of which it was given no attempt", p.Behavior)
			}
		}
	}
	return nil
}

// order checks that a frame is one of a worker, in its place, and notes when it passes.
func (l *line) order(f *stream.Frame) error {
	now := runtime.Boottime()
	l.mu.Lock()
	defer l.mu.Unlock()
	if (f.Hello != nil) == l.begun {
		return errors.New("a stream begins with hello, and has no other")
	}
	l.begun = true
	switch {
	case f.Hello != nil:
		l.hello = now
	case f.Renew != nil:
		if len(l.sent) >= maxRenewals {
			return fmt.Errorf("%d renewals without an answer", maxRenewals)
		}
		l.sent[f.Renew.N] = now
	case len(f.Reports) > 0, len(f.Ready) > 0, f.Credits != nil, len(f.Logs) > 0, f.Bye != nil, len(f.Progress) > 0, f.Ask != nil, len(f.Pace) > 0,
		len(f.Unready) > 0:
	default:
		return errNotSaid
	}
	return nil
}

// see takes a frame of the leader.
func (l *line) see(f *stream.Frame) {
	at := time.Duration(0)
	l.mu.Lock()
	switch {
	case f.Welcome != nil:
		at = l.hello
	case f.Renewed != nil:
		at = l.sent[f.Renewed.N]
		delete(l.sent, f.Renewed.N)
	}
	l.mu.Unlock()
	l.c.leases.see(f, at)
}

// mayHello checks that the child says who it is.
func (c *process) mayHello(h *stream.Hello) error {
	c.mu.Lock()
	me, wall := c.up, c.wall
	c.mu.Unlock()
	s, leases := &c.spec, int64(c.spec.Slots)*worker.LeasesPerSlot
	if s.Alone {
		leases = 1
	}
	switch {
	case wall == nil:
		return errors.New("hello before its wall was looked at")
	case h.Worker != s.ID || h.Node != s.Node || !bytes.Equal(h.Proof, me.Proof):
		return fmt.Errorf("hello as worker %.100q of node %.100q", h.Worker, h.Node)
	case h.Slots != int64(s.Slots) || h.Leases != leases || h.Alone != s.Alone || h.Isolates != s.Isolates:
		return fmt.Errorf("hello with %d slots and %d leases, alone %v, isolates %v", h.Slots, h.Leases, h.Alone, h.Isolates)
	case h.N >= me.Before:
		return fmt.Errorf("hello number %d, not below %d", h.N, me.Before) // nothing could end its session before its time
	case h.Wall == nil || !slices.Equal(h.Wall.InForce, wall.InForce) || !slices.Equal(h.Wall.Missing, wall.Missing) || h.Wall.OOMKills != wall.OOMKills:
		return errors.New("hello with another wall than the kernel says")
	}
	return c.mayBeReady(h.Ready)
}

// mayBeReady checks that the child names modules that it was given. Behaviors that are built into a server are none of them.
func (c *process) mayBeReady(digests []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range digests {
		if !c.fetched[d] {
			return fmt.Errorf("it is ready for %.100q, which it was not given", d)
		}
	}
	return nil
}

// mayReport checks that a report is about an attempt that the child was given, and that the attempt may do what it reports.
func (c *process) mayReport(r *stream.Report) error {
	kinds := 0
	for _, is := range [...]bool{r.Finish != nil, r.Beat != nil, r.Snooze != nil, r.GiveBack != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("a report of %d kinds", kinds)
	}
	external := r.Finish != nil && r.Finish.External || r.Beat != nil && (r.Beat.External || r.Beat.Extend != 0)
	key, token := r.Subject()
	of, err := c.leases.of(token, key)
	switch {
	case err != nil:
		err = fmt.Errorf("its report: %w", err)
	case external:
		err = errors.New("it reports what only external workers report")
	default:
		err = c.mayCarry(r)
	}
	if err == nil && len(r.Children) > 0 {
		err = c.maySubmit(r, &of)
	}
	if err != nil {
		return &breach{token, err}
	}
	return nil
}

// mayCarry checks the size of what a report carries.
func (c *process) mayCarry(r *stream.Report) error {
	switch {
	case r.Finish != nil:
		err := errors.Join(short("result", &r.Finish.Result), short("progress", r.Finish.Progress))
		if e := r.Finish.Error; e != nil && err == nil {
			if err = short("error.details", &e.Details); len(e.Message) > maxInline || len(e.Code) > maxInline {
				err = fmt.Errorf("error: more than %d bytes", maxInline)
			}
		}
		return err
	case r.Beat != nil:
		return errors.Join(short("checkpoint", r.Beat.Checkpoint), short("progress", r.Beat.Progress))
	case r.Snooze != nil:
		return errors.Join(short("checkpoint", r.Snooze.Checkpoint), short("progress", r.Snooze.Progress))
	}
	return nil
}

func short(field string, p *task.Payload) error {
	if p != nil && len(p.Data) > maxInline {
		return fmt.Errorf("%s: %d bytes in a report, at most %d", field, len(p.Data), maxInline)
	}
	return nil
}

// maySubmit checks the children of a success against the attempt's grants (SPEC A10, B6). The child has checked them before, when the guest asked,
// but the child may have been taken over since.
func (c *process) maySubmit(r *stream.Report, of *lease) error {
	if r.Finish == nil || r.Finish.Error != nil || c.p.cfg.CheckChild == nil {
		return errors.New("children without a success")
	}
	for i, doc := range r.Children {
		behavior, err := c.p.cfg.CheckChild(doc)
		if err != nil {
			return fmt.Errorf("children[%d]: %w", i, err)
		}
		if !c.p.cfg.Grants.Tasks(of.key.Namespace, of.behavior, behavior) {
			return fmt.Errorf("children[%d]: a task of %s, which is not granted to %s in namespace %s", i, behavior, of.behavior, of.key.Namespace)
		}
	}
	return nil
}

// broke ends a child that has broken its contract. The attempt that it has named counts among those that executed when it died. So its task runs
// alone next. If the same happens there, the attempt fails (SPEC L5).
func (c *process) broke(err error) {
	c.p.breaches.Add(1)
	if b, ok := errors.AsType[*breach](err); ok && c.leases.knows(b.token) {
		c.mu.Lock()
		c.guilty = append(c.guilty, b.token)
		c.mu.Unlock()
	}
	c.p.log.Error("the guests' process has said what it may not say: not carried on, and the process is ended", "pid", c.sub.PID(), "error", err)
	c.fail("it broke its contract: " + err.Error())
}

// steady is the connection to a leader that may take nothing for a while, but not for ever.
type steady struct{ net.Conn }

// Write implements io.Writer.
func (s steady) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		if err = s.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return n, err
		}
		var some int
		some, err = s.Conn.Write(b[:min(len(b), writeChunk)])
		n, b = n+some, b[some:]
	}
	return n, err
}
