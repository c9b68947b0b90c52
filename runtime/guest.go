package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/guestspans"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/wasi"
)

// phase says which part of a guest's life runs. Host functions act on it (abi/README.md, "Phases").
type phase uint8

const (
	phaseInit phase = iota // start section, _initialize: sees nothing of a task
	phaseDescribe
	phaseRun
)

// errKilled unwinds a guest whose context is done; the context's cause says why.
var errKilled = errors.New("killed")

// PointerError ends a guest that gave the host a pointer outside its memory.
type PointerError struct {
	Func       string
	Ptr, Len   uint32
	MemorySize uint32
}

func (e *PointerError) Error() string {
	return fmt.Sprintf("%s: pointer %#x with length %d is outside the memory of %d bytes", e.Func, e.Ptr, e.Len, e.MemorySize)
}

// guest is the host's side of one instance while it works for one attempt. All fields but the atomics belong to the
// goroutine that runs the guest.
type guest struct {
	ctx     context.Context // &own; the guest must end when it is done
	own     guestContext
	cancel  context.CancelCauseFunc
	timers  timers
	phase   phase
	module  *Module
	attempt Attempt
	host    Host
	log     attemptLog
	stdout  lineWriter
	stderr  lineWriter
	fuel    gauge
	command *command // nil: none
	grants  *grants.Grants
	secrets []secret // that it has read
	fetch   *fetch.Client
	http    exchange
	memory  *memory.Budget // to which responses are charged; nil: none
	held    int64          // bytes that are charged for responses
	stack   callStackOf
	follows *memory.Memory // what it touches of its memory; nil: not known yet
	kept    int64          // charged for the result
	child   func(doc []byte) (behavior string, err error)
	submits children
	clock   func() time.Time
	rand    io.Reader
	begin   time.Time // by clock
	real    time.Time // by time.Now, which timers follow; clock may be anything

	making    time.Time     // since when its instance is being made; zero: it is not
	makingAt  time.Time     // the same, by clock
	initClock time.Duration // the monotonic clock of phaseInit; that of the attempt goes on from there
	initRand  io.Reader     // the randomness of phaseInit
	spoke     bool          // it was heard in phaseInit
	files     wasi.Files

	checkpoint content
	response   []byte // nil: none
	openSpans  guestspans.Open

	result    []byte
	hasResult bool
	detail    []byte
	note      []byte
	nextTime  []byte
	manifest  []byte

	waited time.Duration // while the guest was not at work: see Outcome.Busy

	lastBeat atomic.Int64 // ns since real
	inCall   atomic.Bool  // the host works on a call: no heartbeat is expected
}

// newGuest returns a guest of m that ends with ctx, or when its cancel is called.
func newGuest(ctx context.Context, m *Module, cfg *Config, a Attempt, host Host) *guest {
	g := &guest{
		module: m, attempt: a, host: host, log: attemptLog{host: host, limit: a.LogBytes, left: a.LogBytes},
		checkpoint: content{a.Checkpoint, a.CheckpointFrom},
		stdout:     lineWriter{level: abi.LogInfo}, stderr: lineWriter{level: abi.LogWarn, keep: StderrTail},
		grants: cfg.Grants, fetch: cfg.fetch, child: cfg.CheckChild, clock: cfg.Clock, begin: cfg.Clock(), real: time.Now(), rand: cfg.Rand,
	}
	g.stdout.log, g.stderr.log = &g.log, &g.log
	g.own.guest = g
	g.own.Context, g.cancel = context.WithCancelCause(ctx)
	g.ctx = &g.own
	return g
}

// guestContext is a guest's context: host functions know by it whom they serve.
type guestContext struct {
	context.Context

	guest *guest
}

type guestKey struct{}

// Value implements context.Context.
func (c *guestContext) Value(key any) any {
	if key == (guestKey{}) {
		return c.guest
	}
	return c.Context.Value(key)
}

func guestOf(ctx context.Context) *guest {
	if c, ok := ctx.(*guestContext); ok {
		return c.guest
	}
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		panic("runtime: a guest is called without its context")
	}
	return g
}

// alive unwinds the guest if it must end. Every host function asks first, so that a guest that neither loops nor
// returns is stopped at its next call.
func (g *guest) alive() {
	if g.ctx.Err() != nil {
		panic(errKilled)
	}
}

// elapsed is the time since the attempt began.
func (g *guest) elapsed() time.Duration { return g.clock().Sub(g.begin) }

// left is the time until the run timeout.
func (g *guest) left() time.Duration { return max(0, g.attempt.RunTimeout-g.elapsed()) }

// maxDeadlineNear bounds how long before the run timeout SignalDeadlineNear is set; otherwise that is a tenth of the
// run timeout.
const maxDeadlineNear = 30 * time.Second

func (g *guest) signals(bits abi.Signals) abi.Signals {
	if g.left() <= min(g.attempt.RunTimeout/10, maxDeadlineNear) {
		bits |= abi.SignalDeadlineNear
	}
	return bits
}

// input returns the content of an input channel.
func (g *guest) input(number int32) (content, abi.Errno) {
	var c content
	switch abi.Channel(number) {
	case abi.Params:
		if g.phase == phaseRun {
			return content{g.attempt.Params, g.attempt.ParamsFrom}, 0
		}
	case abi.Info:
		c.data = g.attempt.InfoJSON()
	case abi.Checkpoint:
		c = g.checkpoint
	case abi.Response:
		c.data = g.response
	case abi.Config:
		c.data = g.attempt.Config
	case abi.Result, abi.ErrorDetail, abi.Progress, abi.Manifest, abi.NextTime:
		return c, abi.EINVAL
	default:
		return c, abi.ENOSYS
	}
	switch {
	case g.phase != phaseRun:
		return content{}, abi.EDENIED
	case c.absent():
		return c, abi.ENOENT
	}
	return c, 0
}

// output takes what a guest writes. It keeps copies, because data is guest memory.
func (g *guest) output(ch abi.Channel, data []byte) abi.Errno {
	switch ch {
	case abi.Params, abi.Info, abi.Checkpoint, abi.Response, abi.Config:
		return abi.EINVAL
	case abi.Result, abi.ErrorDetail, abi.Progress, abi.NextTime:
		if g.phase != phaseRun {
			return abi.EDENIED
		}
	case abi.Manifest:
		if g.phase != phaseDescribe {
			return abi.EDENIED
		}
	default:
		return abi.ENOSYS
	}
	switch ch {
	case abi.Result:
		errno := appendWithin(&g.result, data, g.attempt.ResultBytes, &g.hasResult)
		g.chargeResult()
		return errno
	case abi.ErrorDetail:
		return appendWithin(&g.detail, data, MaxErrorDetail, nil)
	case abi.NextTime:
		return appendWithin(&g.nextTime, data, MaxNextTime, nil)
	case abi.Manifest:
		return appendWithin(&g.manifest, data, manifest.MaxBytes, nil)
	}
	if len(data) > MaxNote {
		return abi.E2BIG
	}
	g.note = bytes.Clone(g.log.hide(data))
	return 0
}

func appendWithin(to *[]byte, data []byte, limit int64, written *bool) abi.Errno {
	if int64(len(*to))+int64(len(data)) > limit {
		return abi.E2BIG
	}
	*to = append(*to, data...)
	if written != nil {
		*written = true
	}
	return 0
}

func (g *guest) beaten() { g.lastBeat.Store(int64(time.Since(g.real))) }
