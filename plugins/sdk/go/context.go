package sdk

import (
	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
)

// Context is one attempt: its input, its output, and the host's signals. It is valid until Run returns, and not
// safe for concurrent use.
type Context struct {
	h      host.Host
	params []byte
	read   bool // params were read
	info   *Info
	result []byte
	given  bool // a result was set
	again  Time
}

// Params returns the task's params as submitted: JSON, or any bytes; empty if there were none. They may be 16 MiB, if the
// behavior's limit allows: ParamsReader reads them in pieces.
func (c *Context) Params() []byte {
	if !c.read {
		c.params, _ = readAll(c.h, abi.Params)
		c.read = true
	}
	return c.params
}

// Info returns what is known of the task and the attempt.
func (c *Context) Info() *Info {
	if c.info == nil {
		text, _ := readAll(c.h, abi.Info)
		c.info = parseInfo(text)
	}
	return c.info
}

// Config returns the module's configuration, or nil if there is none.
func (c *Context) Config() []byte {
	b, _ := readAll(c.h, abi.Config)
	return b
}

// RunAgain makes a task that succeeds run again at the time at, whatever Behavior.RepeatEvery says (SPEC R4). The result stands
// until then.
func (c *Context) RunAgain(at Time) { c.again = at }

// SetResult sets the result of the task, which counts if Run returns nil; the last call wins. Valid JSON becomes the
// task's `result`, other bytes its `result_base64`. It must not be changed afterwards.
func (c *Context) SetResult(result []byte) { c.result, c.given = result, true }

// Signals is a set of bits: what the host asks of a running attempt.
type Signals abi.Signals

// These are the bits, for tests; plugins use the methods.
const (
	SignalCancel       = Signals(abi.SignalCancel)
	SignalLeaseLost    = Signals(abi.SignalLeaseLost)
	SignalDraining     = Signals(abi.SignalDraining)
	SignalDeadlineNear = Signals(abi.SignalDeadlineNear)
)

// Cancelled reports that the attempt should stop: the task is being cancelled, or the lease is lost.
func (s Signals) Cancelled() bool {
	return s&(SignalCancel|SignalLeaseLost) != 0
}

// LeaseLost reports that another attempt may be running: nothing that this attempt reports counts any more.
func (s Signals) LeaseLost() bool { return s&SignalLeaseLost != 0 }

// Draining reports that the node wants to stop: save a checkpoint and return Yield.
func (s Signals) Draining() bool { return s&SignalDraining != 0 }

// DeadlineNear reports that the attempt's time is nearly over.
func (s Signals) DeadlineNear() bool { return s&SignalDeadlineNear != 0 }

// Heartbeat says that the attempt makes progress: done of total, in any unit; total 0 if unknown. It costs well under a
// microsecond (the host keeps the lease alive on its own schedule), so call it often.
func (c *Context) Heartbeat(done, total int64) Signals {
	return signals(c.h.Beat(done, total))
}

// Signals returns the signals without a heartbeat.
func (c *Context) Signals() Signals { return signals(c.h.Signals()) }

// signals reads the answer of beat and signals; a negative one is a status and asks nothing.
func signals(n int32) Signals { return Signals(max(n, 0)) }

// Cancelled is Signals().Cancelled().
func (c *Context) Cancelled() bool { return c.Signals().Cancelled() }

// Draining is Signals().Draining().
func (c *Context) Draining() bool { return c.Signals().Draining() }

// Note replaces the attempt's progress note, which readers of the task see beside done and total.
func (c *Context) Note(text string) { c.h.Write(abi.Progress, []byte(text)) }

// Checkpoint returns the last checkpoint that an earlier attempt of this task, or this attempt, saved; false if there is none.
func (c *Context) Checkpoint() ([]byte, bool) { return readAll(c.h, abi.Checkpoint) }

// SaveCheckpoint stores data with the task. When it returns nil, a majority of the cluster has the data on disk, and the next
// attempt will find it wherever it runs. This costs a round of consensus: save every second or so, not in every step.
// After ErrUnavailable (there is no leader right now, and the data may or may not be stored) go on and save again later. After
// ErrLeaseLost return.
func (c *Context) SaveCheckpoint(data []byte) error {
	if n := c.h.Call(abi.OpCheckpointSave, data); n < 0 {
		return statusError(abi.Errno(n))
	}
	return nil
}

// Now returns the time of the host.
func (c *Context) Now() Time { return Time(c.h.Clock(abi.ClockWall)) }

// Deadline returns when the attempt's time is over.
func (c *Context) Deadline() Time { return c.Now().Add(c.Remaining()) }

// Remaining returns how much time the attempt has left.
func (c *Context) Remaining() Duration {
	return Duration(c.h.Clock(abi.ClockDeadline)) * Millisecond
}

// Elapsed returns a time that only moves forward, for measuring. Only differences of it mean something.
func (c *Context) Elapsed() Duration { return Duration(c.h.Clock(abi.ClockMonotonic)) }

// maxRandom is how many bytes one call may ask for (abi.OpRandom).
const maxRandom = 65536

// Random fills p with random bytes from the host. Prefer it to math/rand, whose generator starts in the same state in
// every attempt, because every attempt starts with the same memory.
func (c *Context) Random(p []byte) error {
	for len(p) > 0 {
		n := min(len(p), maxRandom)
		if got := c.h.Call(abi.OpRandom, appendNumber(nil, uint64(n), 4)); got < 0 {
			return statusError(abi.Errno(got))
		}
		if got := c.h.Read(abi.Response, 0, p[:n]); int(got) != n {
			return ErrInvalid
		}
		p = p[n:]
	}
	return nil
}

// Call makes a request of the ABI (abi/README.md, "Ops of call") that has no method here, and returns the response.
// ErrUnsupported: this host does not know the request.
func (c *Context) Call(op abi.Op, payload []byte) ([]byte, error) {
	if n := c.h.Call(op, payload); n < 0 {
		return nil, statusError(abi.Errno(n))
	}
	response, _ := readAll(c.h, abi.Response)
	return response, nil
}

// Level is the severity of a log line.
type Level int32

// These are the levels.
const (
	LevelTrace Level = abi.LogTrace
	LevelDebug Level = abi.LogDebug
	LevelInfo  Level = abi.LogInfo
	LevelWarn  Level = abi.LogWarn
	LevelError Level = abi.LogError
)

// Log adds a line to the task's log (`taskrt logs ID`). The log is bounded: lines over the limit are dropped. Standard
// output and error go to the log, too.
func (c *Context) Log(level Level, message string) { c.h.Log(int32(level), []byte(message)) }

// readAll reads an input channel; false if it has nothing to say.
func readAll(h host.Host, ch abi.Channel) ([]byte, bool) {
	n := h.Len(ch)
	if n < 0 {
		return nil, false
	}
	buf := make([]byte, n)
	for off := int32(0); off < n; {
		got := h.Read(ch, off, buf[off:])
		if got <= 0 {
			panic("sdk: the host announced bytes that it does not give")
		}
		off += got
	}
	return buf, true
}
