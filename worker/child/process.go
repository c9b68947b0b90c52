package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/internal/cgroup"
	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// process is one child.
type process struct {
	p       *Parent
	spec    spec
	sub     *subproc.Process
	box     *cgroup.Box // nil: nobody has asked for one
	cells   *subproc.Cells
	leases  *leases
	memory  *semaphore.Weighted // bytes of requests and responses
	puts    *semaphore.Weighted // bytes of results and checkpoints on their way into the blob store
	frames  *semaphore.Weighted // bytes of large frames on their way to the leader
	streams chan struct{}       // has an item for each stream to a leader
	ctx     context.Context     // ends with the child, and with it the calls for the child
	cancel  context.CancelFunc
	calls   chan struct{}  // has an item for each call under way
	wg      sync.WaitGroup // calls and readers
	reports chan struct{}  // capacity 1: p.last is new
	ended   atomic.Bool    // an assignment of the child is over

	mu      sync.Mutex // cells are unmapped with it held
	up      up
	wall    *wall.State // as the kernel says; nil: it was not asked yet
	held    worker.Held
	fetched map[string]bool // digests of modules that the child was given
	guilty  []uint64        // tokens of attempts in whose name the child broke its contract
	why     string          // why the child was killed, or could not go on
}

const (
	// startTTL stands for a session's TTL until the child says something, which may take long on a busy machine.
	startTTL = 2 * time.Minute
	// watchEvery is how often a child is looked at. Meanwhile its memory grows by no more than a few hundred MiB.
	watchEvery = 100 * time.Millisecond
	// idleEvery is how often a child without leases is looked at, and the memory of one that executes nothing. A look costs two system calls, and
	// one at memory a page of text from the kernel. Looks were an eighth of what wakes an idle follower.
	idleEvery = time.Second
	// dialTimeout bounds a dial that a child may have given up.
	dialTimeout = 15 * time.Second
	// maxCalls bounds the calls of a child that are under way at the same time.
	maxCalls = 1024
	// putMemory bounds the results and checkpoints of a child that are on their way into the blob store. The next ones wait.
	putMemory = 256 << 20
)

var errKilled = errors.New("child: the node gives its guests up")

// start starts a child and puts it into place.
func (p *Parent) start(place **process, s spec) (*process, error) {
	cells, err := subproc.NewCells(s.Slots)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		cells.Close()
		return nil, errKilled
	}
	files := append([]*os.File{cells.File()}, p.cfg.Files...)
	cmd := subproc.Command{Args: append(slices.Clone(p.cfg.Args), strconv.Itoa(len(p.cfg.Files))), Files: files, Orphan: p.cfg.Orphan}
	sub, box, err := p.startIn(cmd, &s)
	if err != nil {
		cells.Close()
		return nil, err
	}
	c := &process{
		p: p, spec: s, sub: sub, box: box, cells: cells, leases: newLeases(s.Slots, s.Traces), memory: semaphore.NewWeighted(httpMemory), puts: semaphore.NewWeighted(putMemory),
		frames: semaphore.NewWeighted(frameMemory), streams: make(chan struct{}, maxStreams), calls: make(chan struct{}, maxCalls), reports: make(chan struct{}, 1),
		held: worker.Held{TTL: startTTL, Sent: runtime.Boottime()}, fetched: map[string]bool{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := send(sub.Conn, msgStart, s); err != nil {
		c.fail("it takes no messages: " + err.Error())
	}
	*place = c
	p.starts++
	c.wg.Go(c.read)
	c.wg.Go(c.watch)
	return c, nil
}

// cgroupRoom is what a child may have in its cgroup besides MemoryBytes, which the parent itself looks at: images of modules, tables of
// pages, files that it reads.
const cgroupRoom = 1 << 30

// startIn starts the process of a child, in a cgroup of its own where there can be one, and notes in the spec whether it is.
func (p *Parent) startIn(cmd subproc.Command, s *spec) (*subproc.Process, *cgroup.Box, error) {
	if p.cfg.Cgroup == nil || p.cfg.MemoryBytes == 0 {
		sub, err := subproc.Start(cmd)
		return sub, nil, err
	}
	sub, box, err := p.cfg.Cgroup.Start(cmd, "guests", p.cfg.MemoryBytes+cgroupRoom)
	s.Cgroup = &cgroupState{Kills: p.oomKills.Load()}
	if lacks := box.Lacks(); lacks != nil {
		s.Cgroup.Lacks = lacks.Error()
	}
	return sub, box, err
}

// leave removes the cgroup of a child that is gone, and counts how often the kernel has ended a process there. why says so, if it has.
func (c *process) leave() (why string) {
	if c.box == nil {
		return ""
	}
	kills := c.box.Kills()
	c.box.Close()
	c.p.oomKills.Add(kills)
	return whyOf("", kills, c.box.Memory())
}

// whyOf returns why a child has ended, if the kernel has ended it for its memory, or what was known before.
func whyOf(known string, kills, memory int64) string {
	if kills == 0 {
		return known
	}
	return fmt.Sprintf("the kernel has ended it: its cgroup may have %d MiB of memory, and needed more (oom_kill %d)", memory>>20, kills)
}

// fail kills the child. The first reason counts.
func (c *process) fail(why string) {
	c.mu.Lock()
	if c.why == "" {
		c.why = why
	}
	c.mu.Unlock()
	c.sub.Kill()
}

// wait waits until the child has ended. When ctx ends the child is made to end. It returns nil if the child ended well.
func (c *process) wait(ctx context.Context) *Crash {
	select {
	case <-c.sub.Done():
	case <-ctx.Done():
		c.drain()
	}
	gone := runtime.Boottime()
	c.cancel()
	c.wg.Wait() // what the child has said is read to the end
	_ = c.sub.Conn.Close()
	why := c.leave()
	c.mu.Lock()
	c.why = cmp.Or(why, c.why)
	session := task.CrashSession{Worker: c.spec.ID, Proof: c.up.Proof, Before: c.up.Before, Tokens: c.executedLocked()}
	crash := &Crash{Session: session, PID: c.sub.PID(), At: gone, Why: c.why}
	c.cells.Close()
	c.mu.Unlock()
	switch {
	case crash.Why != "":
	case c.sub.State().Success():
		return nil
	default:
		crash.Why = describe(c.sub.State())
	}
	return crash
}

// executedLocked returns the tokens of the attempts that may have caused the end of the child: those that executed, and those in whose name it broke
// its contract.
func (c *process) executedLocked() []uint64 {
	tokens := append(tokensIn(c.cells), c.guilty...)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// executing returns the tokens of the attempts that execute in the child now.
func (c *process) executing() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tokensIn(c.cells)
}

// drain lets the child end as a worker does. If the child takes longer than a worker may, drain kills it.
func (c *process) drain() {
	patience := time.NewTimer(cmp.Or(c.spec.DrainTime, worker.DefaultDrainTime) + 4*cmp.Or(c.spec.CloseTime, worker.DefaultCloseTime))
	defer patience.Stop()
	if err := c.sub.Conn.Send(msgDrain, nil); err != nil {
		c.sub.Kill()
	}
	select {
	case <-c.sub.Done():
	case <-patience.C:
		c.p.log.Error("the guests' process does not end when told to: killed")
		c.sub.Kill()
		<-c.sub.Done()
	}
}

// describe says how a process ended.
func describe(s *os.ProcessState) string {
	status, ok := s.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		return "killed from outside (SIGKILL): by the kernel, if memory ran out"
	case ok && status.Signaled():
		return fmt.Sprintf("ended by signal %d (%v)", status.Signal(), status.Signal())
	case s.ExitCode() == worker.ExitOverrun:
		return fmt.Sprintf("a guest could not be stopped in time, so it ended itself (exit code %d)", s.ExitCode())
	}
	return fmt.Sprintf("exit code %d", s.ExitCode())
}

// watch ends a child in two cases: if it says nothing until no guest of its session may execute any longer, and if it takes too much memory.
func (c *process) watch() {
	t := time.NewTimer(watchEvery)
	defer t.Stop()
	for measured := time.Duration(0); ; {
		select {
		case <-t.C:
		case <-c.leases.came:
			t.Reset(watchEvery)
			continue
		case <-c.ctx.Done():
			return
		case <-c.sub.Done():
			return
		}
		now := runtime.Boottime()
		c.mu.Lock()
		overdue := c.held.Overdue(now)
		c.mu.Unlock()
		if overdue {
			c.fail("nothing was heard of it until no guest may execute any more: stopped, or starved")
		}
		active := len(c.executing()) > 0
		if limit := c.p.cfg.MemoryBytes; limit > 0 && (active || now-measured >= idleEvery) {
			measured = now
			if n, known := subproc.Anonymous(c.sub.PID()); known && n > limit {
				c.fail(fmt.Sprintf("it took %d MiB of memory, limit %d MiB", n>>20, limit>>20))
			}
		}
		if active || !c.leases.doze() {
			t.Reset(watchEvery)
		} else {
			t.Reset(idleEvery)
		}
	}
}

// read takes what the child says until the child is gone.
func (c *process) read() {
	for {
		m, err := c.sub.Conn.Recv(maxMessage)
		if err == nil {
			err = c.handle(m)
		}
		if err == nil {
			continue
		}
		if c.ctx.Err() == nil && !isGone(err) {
			c.fail("what it says makes no sense: " + err.Error())
		} else {
			c.sub.Kill() // without the socket there is no child
		}
		return
	}
}

func (c *process) handle(m subproc.Message) error {
	if len(m.Files) > 0 {
		return c.accept(m)
	}
	switch m.Kind {
	case msgHeld:
		h, err := decode[worker.Held](m)
		h = believed(h, c.leases.ttl(), runtime.Boottime())
		c.mu.Lock()
		c.held = h
		c.mu.Unlock()
		return err
	case msgSuspects:
		wait, err := decode[bool](m)
		c.p.tellSuspects(wait)
		return err
	case msgEnded:
		c.ended.Store(true)
		return readEnded(m.Body, c.tellEnd)
	case msgCompiled:
		v, err := decode[compiled](m)
		if err == nil {
			err = c.mayBeReady([]string{v.Digest})
		}
		if tell := c.p.cfg.OnCompile; err == nil && tell != nil {
			tell(v.value())
		}
		return err
	case msgReport: // only the child that runs the guests is asked
		r, err := decode[report](m)
		c.p.mu.Lock()
		c.p.last = r
		c.p.mu.Unlock()
		select {
		case c.reports <- struct{}{}:
		default:
		}
		return err
	case msgUp:
		return c.isUp(m)
	case msgFailed:
		c.mu.Lock()
		c.why = strings.ToValidUTF8(string(m.Body), "?")
		c.mu.Unlock()
	}
	return nil
}

// believed returns the session that a child says it holds, with no more time than a session of ttl may have. So a child that falls silent is noticed.
func believed(h worker.Held, ttl, now time.Duration) worker.Held {
	if h.Session == 0 || ttl == 0 {
		ttl = aliveTTL
	}
	h.Sent, h.TTL = min(h.Sent, now), min(h.TTL, ttl)
	return h
}

// tellEnd passes on that an attempt is over. The leader has said whose attempt it was. Numbers are brought into their bounds.
func (c *process) tellEnd(e worker.Ended, measured []byte) {
	of, first := c.leases.end(e.Token)
	tell := c.p.cfg.Worker.OnEnd
	if !first || tell == nil {
		return
	}
	e.Namespace, e.Behavior, e.Trace = of.key.Namespace, of.behavior, of.trace
	e.Spans = of.spans.Measured(measured)
	e.Fuel = min(max(e.Fuel, 0), task.MaxFuel)
	e.PeakMemory, e.Wall, e.Busy, e.Ready = max(e.PeakMemory, 0), max(e.Wall, 0), max(e.Busy, 0), max(e.Ready, 0)
	tell(e)
}

// isUp notes that the child can begin. The kernel is asked whether the child's wall is as the child says: a child that is not behind
// it gets no module.
func (c *process) isUp(m subproc.Message) error {
	v, err := decode[up](m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.up = v
	c.mu.Unlock()
	seen, err := wall.Prove(c.sub.PID(), v.Wall)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.wall = &seen
	c.mu.Unlock()
	c.p.log.Info("the guests' process is up", "pid", c.sub.PID(), "wall", seen.String(), "missing", seen.Missing)
	return c.sub.Conn.Send(msgBegin, nil)
}

// ask asks the child for a report. Without an answer in time it returns the last one.
func (c *process) ask(last report) report {
	select {
	case <-c.reports:
	default:
	}
	if err := c.sub.Conn.Send(msgAsk, nil); err != nil {
		return last
	}
	patience := time.NewTimer(reportPatience)
	defer patience.Stop()
	select {
	case <-c.reports:
	case <-patience.C:
	case <-c.ctx.Done():
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return c.p.last
}
