package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
)

// Config of an Engine. The zero value works: every zero field gets its default in New.
type Config struct {
	// CacheDir keeps native code between processes; "" compiles anew in every process. It holds code that is
	// executed, so it is created with mode 0700 and must be private to this node. It may be deleted, or damaged, at
	// any time.
	CacheDir string
	// CacheBytes bounds the cache; what was not used for the longest time is removed first. Default 1 GiB. A Go
	// module of 2 MB has about 10 MB of code.
	CacheBytes int64
	// Compile, if set, has another process put the code of a module into the cache. This engine then only reads the
	// cache and compiles nothing. CacheDir must be set.
	Compile func(ctx context.Context, digest string, size int64) error
	// KeepImages has Inspect and Load put the image of a module's initialised memory into the cache, for engines that
	// only read the cache; this engine shares no images. CacheDir must be set.
	KeepImages bool
	// MaxModuleBytes bounds an uploaded file (SPEC B2); default 32 MiB.
	MaxModuleBytes int64
	// CompileWorkers is how many modules are compiled at the same time; default half of the CPUs, at least 1, so that
	// compiling leaves room for the node's other work.
	CompileWorkers int
	// MemoryBudget bounds the linear memory of all guests of this engine together, in bytes; default 2 GiB. An attempt
	// waits until its initial memory fits; a grow that does not fit is refused.
	MemoryBudget int64
	// Grants are the capabilities that modules get; nil grants none.
	Grants *grants.Grants
	// CheckChild checks the JSON of a task that a guest submits and returns the task's behavior; nil lets no guest
	// submit any.
	CheckChild func(doc []byte) (behavior string, err error)
	// Logger; default slog.Default.
	Logger *slog.Logger

	// Clock gives guests their wall clock and monotonic clock, and the engine the start of its timeouts; default
	// time.Now.
	Clock func() time.Time
	// Boottime stamps the begin and end of guest execution; default the function Boottime of this package.
	Boottime func() time.Duration
	// Rand is the guests' randomness, read by many goroutines; default crypto/rand.
	Rand io.Reader
	// OnRun, if set, is told of every attempt after no guest code of it runs any more, on the goroutine of Run. Tests
	// prove SPEC L1 by it, also for attempts whose outcome nobody reads.
	OnRun func(Span)
	// OnCompile, if set, is told of every module that was made ready or refused, on a goroutine of the engine's.
	OnCompile func(Compiled)

	fetch *fetch.Client // makes the requests that Grants allow
}

// Compiled is a module that was made ready, or the reason why it was not.
type Compiled struct {
	Digest string
	Took   time.Duration // from the check to the end, without waiting for Config.CompileWorkers
	Cached bool          // the code came from the cache
	Err    error
}

// Span is the time in which guest code of one attempt may have run: CLOCK_BOOTTIME nanoseconds.
type Span struct {
	Digest         string
	Behavior       int32
	Info           []byte // Attempt.Info
	Started, Ended int64
}

// Defaults of Config.
const (
	DefaultMaxModuleBytes = 32 << 20
	DefaultMemoryBudget   = 2 << 30
	DefaultCacheBytes     = 1 << 30
)

func (c Config) withDefaults() Config {
	if c.MaxModuleBytes == 0 {
		c.MaxModuleBytes = DefaultMaxModuleBytes
	}
	if c.CompileWorkers == 0 {
		c.CompileWorkers = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if c.MemoryBudget == 0 {
		c.MemoryBudget = DefaultMemoryBudget
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = DefaultCacheBytes
	}
	c.fetch = &fetch.Client{}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Boottime == nil {
		c.Boottime = Boottime
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	return c
}

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.MaxModuleBytes < 0:
		return fmt.Errorf("runtime: MaxModuleBytes is negative: %d", c.MaxModuleBytes)
	case c.Compile != nil && c.CacheDir == "":
		return errors.New("runtime: Compile is set, but no CacheDir")
	case c.KeepImages && c.CacheDir == "":
		return errors.New("runtime: KeepImages is set, but no CacheDir")
	case c.CompileWorkers < 0:
		return fmt.Errorf("runtime: CompileWorkers is negative: %d", c.CompileWorkers)
	case c.CacheBytes < 0:
		return fmt.Errorf("runtime: CacheBytes is negative: %d", c.CacheBytes)
	case c.MemoryBudget < 0:
		return fmt.Errorf("runtime: MemoryBudget is negative: %d", c.MemoryBudget)
	}
	return nil
}
