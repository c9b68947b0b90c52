// What host and guest may expect of each other: abi/abi.go.

export namespace channel {
  export const PARAMS: i32 = 0;
  export const INFO: i32 = 1;
  export const CHECKPOINT: i32 = 2;
  export const RESPONSE: i32 = 3;
  export const CONFIG: i32 = 4;
  export const RESULT: i32 = 16;
  export const ERROR_DETAIL: i32 = 17;
  export const PROGRESS: i32 = 18;
  export const MANIFEST: i32 = 19;
  export const NEXT_TIME: i32 = 20;
}

export namespace clock {
  export const WALL: i32 = 0;
  export const DEADLINE: i32 = 1;
  export const MONOTONIC: i32 = 2;
}

/** Requests of `Context.call`. */
export namespace op {
  export const CHECKPOINT_SAVE: i32 = 1;
  export const RANDOM: i32 = 6;
  export const PARTITIONS: i32 = 8;
  export const BLOB_SIZE: i32 = 9;
  export const BLOB_READ: i32 = 10;
  export const SPAN_BEGIN: i32 = 11;
  export const SPAN_END: i32 = 12;
}

/** Bytes of one response. */
export const MAX_RESPONSE: i32 = 1 << 20;
/** Bytes that one request for randomness may ask for. */
export const MAX_RANDOM: i32 = 65536;
/** Length of a blob's name: "sha256:" and 64 lower-case hexadecimal digits. */
export const BLOB_NAME: i32 = 71;

// The host copies before a function returns: a pointer need only live for the call.

// @ts-ignore: decorator
@external("taskrt_v1", "len")
export declare function len(ch: i32): i32;
// @ts-ignore: decorator
@external("taskrt_v1", "read")
export declare function read(ch: i32, ptr: usize, off: i32, n: i32): i32;
// @ts-ignore: decorator
@external("taskrt_v1", "write")
export declare function write(ch: i32, ptr: usize, n: i32): i32;
// @ts-ignore: decorator
@external("taskrt_v1", "log")
export declare function log(level: i32, ptr: usize, n: i32): void;
// @ts-ignore: decorator
@external("taskrt_v1", "beat")
export declare function beat(done: i64, total: i64): i32;
// @ts-ignore: decorator
@external("taskrt_v1", "signals")
export declare function signals(): i32;
// @ts-ignore: decorator
@external("taskrt_v1", "clock")
export declare function readClock(id: i32): i64;
// @ts-ignore: decorator
@external("taskrt_v1", "call")
export declare function call(op: i32, ptr: usize, n: i32): i32;
