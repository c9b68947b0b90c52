package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	goruntime "runtime"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// Config configures a Worker. ID, Dir, Dial, Modules and Runner must be set.
type Config struct {
	// ID names the worker in the cluster. One ID has at most one live session (SPEC L6).
	ID string
	// Node is the node that this worker is built into; "" for a separate process.
	Node string
	// Dir holds the lock and the secret that prove that a former process of this ID is dead (SPEC L6). Created 0700.
	Dir string
	// Slots is how many attempts run at the same time. Default: four per CPU. Guests compute, so more slots than CPUs do not
	// make them faster. But a guest that waits for a durable checkpoint leaves its core idle. So does a slot between
	// its report and the next assignment, which takes a commit. Four slots hide both for runs of a few milliseconds.
	Slots int

	// Alone makes this the worker of a process that runs one attempt of a suspect and then ends (SPEC L5): Slots must be 1, and the
	// worker takes no second assignment. Isolates says that somebody starts such a process when OnSuspects tells that suspects wait.
	Alone, Isolates bool

	Dial Dialer
	// Modules gets modules and Runner runs them. Without both, the worker runs only the behaviors in Native.
	Modules Modules
	Runner  Runner
	// Blobs stores results and checkpoints that are too long for a report, and reads params that are blobs.
	// Default: no store, and runs that need one fail.
	Blobs Blobs
	// Outside does what a capability allows to attempts; nil: the Runner does it.
	Outside Outside
	// Wall, if set, says what the wall around this process is when the worker says Hello.
	Wall func() stream.Wall
	// Native are behaviors built into this process, by the Module of their versions (task.Native). The worker is ready for
	// them from the start, and runs their attempts as it runs all others.
	Native map[string]Guest

	// DrainTime is how long a shutdown waits for running attempts to end by themselves before it kills them; default 5 s.
	DrainTime time.Duration
	// CloseTime bounds each later step of a shutdown: guests dying, reports acknowledged, session closed; default 2 s.
	CloseTime time.Duration
	// PrepareWorkers is how many modules are fetched and compiled at the same time; default 2. The engine has its own,
	// lower limit for compiling: while one module compiles, the second one is fetched.
	PrepareWorkers int

	// Boottime reads CLOCK_BOOTTIME (SPEC L5); default runtime.Boottime.
	Boottime func() time.Duration
	// Now is the wall clock, for log lines only; default time.Now.
	Now    func() time.Time
	Logger *slog.Logger // default slog.Default

	// OnRun, if set, is told when an attempt begins to execute (Ended is 0) and when it no longer executes. It is called on
	// the attempt's goroutine and must not block for long.
	OnRun func(Run)
	// OnEnd, if set, is told of every assignment that is over, before the worker reports it. It is called with locks held: it must not
	// block, and must not call the worker.
	OnEnd func(Ended)
	// Traces has OnEnd told what attempts did whose traces are sampled (SPEC U2).
	Traces bool
	// OnSession, if set, is told whenever the right of guests to execute is extended. It is told the zero Held when the session is
	// over and no guest of it executes any more. It is for an owner that watches this worker from outside. It must not block.
	OnSession func(Held)
	// OnSuspects is told what the leader says about suspects: whether any wait. When another connection begins, it is told that none
	// wait. It must not block. Only with Isolates.
	OnSuspects func(wait bool)
	// OnOverrun is called when a guest that could not be stopped still executes at 85 % of the TTL, or near the time at which the
	// leader ends its lease (SPEC L7): another worker may be given its task soon. OnOverrun must end the process; the default does so
	// at once. Fail-stop keeps SPEC L1.
	OnOverrun func(Overrun)
}

// Dialer connects to the leader's hub: a mux.Stream of the leader's node-to-node port.
type Dialer interface {
	// Dial connects to the node that seems to lead now. ctx bounds it.
	Dial(ctx context.Context) (net.Conn, error)
	// Redirect tells where the leader is, as a node that does not lead sees it. addr is the leader's node-to-node address.
	Redirect(addr string)
}

// Modules gets the bytes of modules (SPEC B3). The worker checks them against the digest, wherever they come from.
type Modules interface {
	Fetch(ctx context.Context, digest string, size int64) ([]byte, error)
}

// Runner compiles and runs modules. Engine makes a Runner of a runtime.Engine.
type Runner interface {
	// Module returns a module that is compiled already.
	Module(digest string) (Guest, bool)
	Load(ctx context.Context, digest string, wasm []byte) (Guest, error)
}

// Guest is a compiled module; *runtime.Module implements it.
type Guest interface {
	// Run returns when no guest code of the attempt runs any more, soon after ctx has ended.
	Run(ctx context.Context, a runtime.Attempt, host runtime.Host) runtime.Outcome
}

// Engine returns a Runner that runs guests on e.
func Engine(e *runtime.Engine) Runner { return engine{e} }

type engine struct{ e *runtime.Engine }

var (
	_ Runner = engine{}
	_ Guest  = (*runtime.Module)(nil)
)

func (r engine) Module(digest string) (Guest, bool) {
	m, ok := r.e.Module(digest)
	if !ok {
		return nil, false
	}
	return m, true
}

func (r engine) Load(ctx context.Context, digest string, wasm []byte) (Guest, error) {
	m, err := r.e.Load(ctx, digest, wasm)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Run is one execution of guest code, as seen where it runs (proof of SPEC L1).
type Run struct {
	Key            task.Key
	Token          uint64
	Attempt        int64
	Session        uint64
	Started, Ended int64 // CLOCK_BOOTTIME ns; Ended is 0 while it executes
}

// Held is the session that a worker holds.
type Held struct {
	Session uint64
	TTL     time.Duration
	Sent    time.Duration // CLOCK_BOOTTIME before the last acknowledged message was sent: the margins count from there (SPEC L5)
}

// Overdue reports whether no guest of the session may execute any more at boot time now.
func (h Held) Overdue(now time.Duration) bool { return now >= h.Sent+percent(h.TTL, overrunPercent) }

// Overrun describes guests that do not stop.
type Overrun struct {
	Session uint64
	Tokens  []uint64
	Late    time.Duration // since the moment at which none may execute any more
}

// ExitOverrun is the exit status of a process that ends itself because a guest does not stop: EX_SOFTWARE.
const ExitOverrun = 70

// These say how long a worker that ends lets its runs go on, and waits for answers, by default.
const (
	DefaultDrainTime = 5 * time.Second
	DefaultCloseTime = 2 * time.Second
)

// DefaultSlots is how many attempts run at the same time by default.
func DefaultSlots() int { return 4 * goruntime.NumCPU() }

func (c Config) withDefaults() Config {
	if c.Slots == 0 {
		c.Slots = DefaultSlots()
	}
	c.DrainTime = cmp.Or(c.DrainTime, DefaultDrainTime)
	c.CloseTime = cmp.Or(c.CloseTime, DefaultCloseTime)
	if c.PrepareWorkers == 0 {
		c.PrepareWorkers = 2
	}
	if c.Blobs == nil {
		c.Blobs = noBlobs{}
	}
	if c.Boottime == nil {
		c.Boottime = runtime.Boottime
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnRun == nil {
		c.OnRun = func(Run) {}
	}
	if c.OnEnd == nil {
		c.OnEnd = func(Ended) {}
	}
	if c.OnSession == nil {
		c.OnSession = func(Held) {}
	}
	if c.OnSuspects == nil {
		c.OnSuspects = func(bool) {}
	}
	if c.OnOverrun == nil {
		c.OnOverrun = func(Overrun) { os.Exit(ExitOverrun) }
	}
	return c
}

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.ID == "":
		return errors.New("worker: ID is empty")
	case c.Dir == "":
		return errors.New("worker: Dir is empty")
	case c.Dial == nil:
		return errors.New("worker: Dial must be set")
	case (c.Modules == nil) != (c.Runner == nil):
		return errors.New("worker: of Modules and Runner only one is set")
	case c.Runner == nil && len(c.Native) == 0:
		return errors.New("worker: without Runner and Native it could run nothing")
	case !c.nativeNames():
		return errors.New("worker: a name in Native without the prefix native: in front")
	case c.Slots < 0:
		return fmt.Errorf("worker: Slots is negative: %d", c.Slots)
	case c.Alone && (c.Slots != 1 || c.Isolates):
		return errors.New("worker: who is Alone has one slot, and starts no others")
	case c.DrainTime < 0 || c.CloseTime < 0:
		return errors.New("worker: DrainTime and CloseTime must not be negative")
	case c.PrepareWorkers < 0:
		return fmt.Errorf("worker: PrepareWorkers is negative: %d", c.PrepareWorkers)
	}
	return nil
}

// nativeNames reports whether every name in Native is one of task.Native and has a guest. Another name could be a module's digest, and
// would stand in for that module.
func (c Config) nativeNames() bool {
	for name, guest := range c.Native {
		if !task.Native(name) || guest == nil {
			return false
		}
	}
	return true
}
