// Package runtime runs one attempt of one wasm module: validate, compile, fresh memory, host functions, limits, kill.
// It knows nothing of tasks, leases or clusters, so that `taskrt run x.wasm` and plugin tests need no cluster.
//
// TO BE IMPLEMENTED; signatures are the contract:
//
//	type Config struct { CacheDir string; MaxModuleBytes int64 (32 MiB); CompileWorkers int; MemoryBudget int64; Logger *slog.Logger }
//	func New(Config) (*Engine, error)
//	func (*Engine) Close(ctx) error
//
//	// Inspect checks a file from cheap to dear without keeping anything (ARCHITECTURE section 6, "Upload order"), and finds
//	// its manifest (given > section > taskrt_describe run in a throw-away sandbox > defaults with name).
//	func (*Engine) Inspect(ctx, wasm []byte, given *Manifest, name string) (*Inspected, error) // *UploadError{Code, Message, Field}
//	type Inspected struct { Digest string; Size int64; Manifest Manifest; ManifestJSON []byte (canonical); Version string }
//
//	type Manifest struct { Schema int; Behaviors []Behavior; Requires []string }   // JSON of SPEC B1; strict decoding
//	type Behavior struct { Name, Description, ID{Strategy,From}, Retry, RunTimeout, … pointers for "absent" }  // durations Go style
//
//	// Load compiles (singleflight by digest, bounded, disk cache) and keeps the module ready.
//	func (*Engine) Load(ctx, digest string, wasm []byte) (*Module, error)
//	func (*Engine) Module(digest string) (*Module, bool)          // ready?
//	func (*Engine) Drop(digest string)
//
//	// Run executes one attempt in fresh memory. It returns when no guest code of it runs any more. Cancelling ctx kills it;
//	// context.Cause tells why: ErrKilledTimeout (run timeout), ErrKilledCancel, ErrKilledLease, …
//	func (*Module) Run(ctx context.Context, a Attempt, host Host) Outcome
//	type Attempt struct {
//		Behavior int32; Params []byte; Info []byte (JSON); Checkpoint []byte (nil: none); Config []byte
//		MemoryBytes, ResultBytes, CheckpointBytes, LogBytes int64; RunTimeout time.Duration; HeartbeatTimeout time.Duration
//	}
//	type Host interface {            // called on the guest's goroutine
//		Beat(done, total int64, note []byte) abi.Signals   // in memory, never blocks
//		Signals() abi.Signals
//		Checkpoint(ctx, data []byte) error                 // returns once durable; ErrLeaseLost => ECONFLICT, …
//		Log(level int, msg []byte)
//	}
//	type Outcome struct {
//		Kind Kind            // Succeeded, Failed, Cancelled, Yielded, Killed
//		Code string          // SPEC T5 code when Failed: HANDLER_ERROR, TRAP, TIMEOUT, OUT_OF_MEMORY, NO_RESULT, OUT_OF_FUEL or the guest's own
//		Class Class          // which policy decides retryability: Guest (Retryable), Trap, Timeout, Exhausted
//		Retryable bool; Message string; Details []byte
//		Result []byte; HasResult bool; NextTime int64 (unix ms, 0 none);
//		Started, Ended int64 // CLOCK_BOOTTIME ns stamps taken around guest execution (proof of L1 in tests)
//		PeakMemory int64; Stderr []byte
//	}
package runtime
