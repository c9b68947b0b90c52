//! Names and numbers of ABI version 1, for [`Context::call`](crate::Context::call) and tests; `abi/README.md` of taskrt specifies
//! them.

/// Channel of the params.
pub const PARAMS: i32 = 0;
/// Channel of what is known of the task, JSON.
pub const INFO: i32 = 1;
/// Channel of the last checkpoint.
pub const CHECKPOINT: i32 = 2;
/// Channel of the last call's response.
pub const RESPONSE: i32 = 3;
/// Channel of the module's configuration.
pub const CONFIG: i32 = 4;
/// Channel of the result.
pub const RESULT: i32 = 16;
/// Channel of what an error says.
pub const ERROR_DETAIL: i32 = 17;
/// Channel of the progress note.
pub const PROGRESS: i32 = 18;
/// Channel of the manifest, in `taskrt_describe`.
pub const MANIFEST: i32 = 19;
/// Channel of the time to run again.
pub const NEXT_TIME: i32 = 20;

/// Outcome: success.
pub const OK: i32 = 0;
/// Outcome: a failure that may be retried.
pub const RETRYABLE: i32 = 1;
/// Outcome: a failure for good.
pub const PERMANENT: i32 = 2;
/// Outcome: the cancel signal was obeyed.
pub const CANCELLED: i32 = 3;
/// Outcome: run me again.
pub const YIELD: i32 = 4;

/// Status: unknown to this host.
pub const ENOSYS: i32 = -1;
/// Status: wrong argument.
pub const EINVAL: i32 = -2;
/// Status: over a limit.
pub const E2BIG: i32 = -3;
/// Status: not there.
pub const ENOENT: i32 = -4;
/// Status: not now.
pub const EAGAIN: i32 = -5;
/// Status: not allowed.
pub const EDENIED: i32 = -6;
/// Status: the lease is lost.
pub const ECONFLICT: i32 = -7;

/// Clock: Unix milliseconds.
pub const CLOCK_WALL: i32 = 0;
/// Clock: milliseconds left of the attempt.
pub const CLOCK_DEADLINE: i32 = 1;
/// Clock: nanoseconds since the attempt began.
pub const CLOCK_MONOTONIC: i32 = 2;

/// Op: stores a checkpoint.
pub const OP_CHECKPOINT_SAVE: i32 = 1;
/// Op: draws random bytes.
pub const OP_RANDOM: i32 = 6;
/// Op: reads partitions of the operation.
pub const OP_PARTITIONS: i32 = 8;
/// Op: tells a blob's length.
pub const OP_BLOB_SIZE: i32 = 9;
/// Op: reads bytes of a blob.
pub const OP_BLOB_READ: i32 = 10;
/// Op: begins a span of the guest's own.
pub const OP_SPAN_BEGIN: i32 = 11;
/// Op: ends the span that was begun last and has not ended.
pub const OP_SPAN_END: i32 = 12;

/// The longest response of a call, in bytes.
pub const MAX_RESPONSE: usize = 1 << 20;
/// The most random bytes that one call draws.
pub const MAX_RANDOM: usize = 65536;
/// What a blob's name begins with.
pub const BLOB_PREFIX: &str = "sha256:";
/// The length of a blob's name.
pub const BLOB_NAME: usize = 7 + 64;
/// The one member of a JSON object that names a blob.
pub const BLOB_MEMBER: &str = "$blob";
