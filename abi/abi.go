// Package abi is the contract between the host and a guest, version 1: names, numbers, status codes. Both sides compile
// this package; it imports nothing. README.md in this folder specifies every function; abitest is the conformance suite.
package abi

// Version is the major version. It is in the name of the import module, so a guest of another major version does
// not link, and its bytes tell its version before it is compiled.
const Version = 1

// These are the names of import modules and exports.
const (
	Module         = "taskrt_v1"
	ModulePrefix   = "taskrt_v"   // any taskrt_vN: names another major version in refusals
	ModuleReserved = "taskrt_sys" // for code that the host injects; a guest that imports it is refused
	ExportReserved = "__taskrt_"  // prefix of exports that a guest may not have

	ExportMemory     = "memory"
	ExportRun        = "taskrt_run"      // (index i32) -> i32
	ExportDescribe   = "taskrt_describe" // () -> (), optional
	ExportInitialize = "_initialize"     // () -> (), optional
	ExportStart      = "_start"          // () -> (), of a WASI command: a module without ExportRun (SPEC B5)

	SectionManifest = "taskrt.manifest" // custom section
)

// These are the names of the functions imported from Module.
const (
	FuncLen     = "len"     // (ch i32) -> i32
	FuncRead    = "read"    // (ch i32, ptr i32, off i32, n i32) -> i32
	FuncWrite   = "write"   // (ch i32, ptr i32, n i32) -> i32
	FuncLog     = "log"     // (level i32, ptr i32, n i32)
	FuncBeat    = "beat"    // (done i64, total i64) -> i32
	FuncSignals = "signals" // () -> i32
	FuncClock   = "clock"   // (id i32) -> i64
	FuncCall    = "call"    // (op i32, ptr i32, n i32) -> i32
)

// These are import modules of capabilities. A guest gets them only if its manifest requires them and the operator grants them.
const (
	ModuleSecrets     = "taskrt_secrets_v1"
	CapabilitySecrets = "secrets" // in requires
	FuncSecretsGet    = "get"     // (name i32, n i32, ptr i32, cap i32) -> i32
)

// These belong to the capability http.
const (
	ModuleHTTP      = "taskrt_http_v1"
	CapabilityHTTP  = "http"
	FuncHTTPRequest = "request" // (head i32, n i32, body i32, m i32) -> i32
	FuncHTTPLen     = "len"     // (part i32) -> i32
	FuncHTTPRead    = "read"    // (part i32, ptr i32, off i32, n i32) -> i32

	HTTPHead  = 0 // part: JSON {"status", "headers": {name: [values]}}
	HTTPBody  = 1
	HTTPError = 2 // why there is no response, as text
)

// These belong to the capability tasks.
const (
	ModuleTasks     = "taskrt_tasks_v1"
	CapabilityTasks = "tasks"
	FuncTasksSubmit = "submit" // (ptr i32, n i32) -> i32

	MaxChildren      = 100       // of an attempt
	MaxChild         = 64 << 10  // bytes of one child's JSON
	MaxChildrenBytes = 512 << 10 // bytes of all children's JSON
)

// Channel numbers an input or output stream of bytes.
type Channel int32

// These are the channels: in (len, read) and out (write).
const (
	Params     Channel = 0
	Info       Channel = 1 // JSON, see README.md
	Checkpoint Channel = 2 // the last stored checkpoint; ENOENT if there is none
	Response   Channel = 3 // of the last call
	Config     Channel = 4

	Result      Channel = 16
	ErrorDetail Channel = 17 // text, or JSON {"code","message","details"}
	Progress    Channel = 18 // a note; it replaces the last note
	Manifest    Channel = 19 // only inside taskrt_describe
	NextTime    Channel = 20 // unix ms, decimal text; with outcome 0, 1 or 4
)

// Outcome is the number that taskrt_run returns.
type Outcome int32

// These are the outcomes; any other number is NO_RESULT (SPEC T7).
const (
	OutcomeOK        Outcome = 0
	OutcomeRetryable Outcome = 1
	OutcomePermanent Outcome = 2
	OutcomeCancelled Outcome = 3
	OutcomeYield     Outcome = 4 // run me again (SPEC R5)
)

// These are exit codes of commands; all other codes are a permanent failure (SPEC B5).
const (
	ExitOK        = 0
	ExitRetryable = 75 // EX_TEMPFAIL of sysexits.h
)

// Errno is a negative status of a host function. A pointer outside memory has no status: it traps.
type Errno int32

// These are the statuses.
const (
	ENOSYS    Errno = -1
	EINVAL    Errno = -2
	E2BIG     Errno = -3
	ENOENT    Errno = -4
	EAGAIN    Errno = -5
	EDENIED   Errno = -6
	ECONFLICT Errno = -7
)

// Signals is a set of bits from beat and signals.
type Signals int32

// These are the signal bits.
const (
	SignalCancel       Signals = 1
	SignalLeaseLost    Signals = 2
	SignalDraining     Signals = 4 // checkpoint and yield
	SignalDeadlineNear Signals = 8
)

// These are the IDs of clocks.
const (
	ClockWall      = 0 // ms since the Unix epoch
	ClockDeadline  = 1 // ms left until the attempt's deadline
	ClockMonotonic = 2 // ns
)

// Op is a request through call.
type Op int32

// These are the ops. A host that does not know an op answers ENOSYS, so an SDK of tomorrow runs on a host of today.
const (
	OpCheckpointSave Op = 1  // payload: the checkpoint; durable when it returns ≥ 0
	OpRandom         Op = 6  // payload: u32 little-endian n ≤ 65536; response: n bytes
	OpPartitions     Op = 8  // payload: PartitionsRequest as JSON; response: PartitionsPage as JSON
	OpBlobSize       Op = 9  // payload: a BlobName; response: u64 little-endian, the blob's bytes
	OpBlobRead       Op = 10 // payload: a BlobName, u64 little-endian offset, u32 little-endian n ≤ MaxResponse; response: at most n bytes
	OpSpanBegin      Op = 11 // payload: a name, and a line KEY=VALUE for each attribute; no response
	OpSpanEnd        Op = 12 // payload: why what the span is about failed; empty: it did not; no response
)

// These are the bounds of a guest's own spans.
const (
	MaxSpanName       = 64  // bytes of a name, and of the key of an attribute
	MaxSpanText       = 256 // bytes of the value of an attribute, and of why a span failed
	MaxSpanAttributes = 8   // of a span
	MaxOpenSpans      = 16  // inside one another
)

// These are sizes of requests and responses, in bytes.
const (
	MaxResponse  = 1 << 20             // of one call
	BlobName     = len("sha256:") + 64 // "sha256:" and 64 lower-case hex digits
	BlobReadSize = BlobName + 8 + 4    // the payload of OpBlobRead
	MaxRequest   = 64 << 10            // payload of a call that the host passes on
	BlobPrefix   = "sha256:"           // of a BlobName
	BlobMember   = "$blob"             // {"$blob": "sha256:…"} in JSON names a blob
)

// These are the log levels.
const (
	LogTrace = 0
	LogDebug = 1
	LogInfo  = 2
	LogWarn  = 3
	LogError = 4
)
