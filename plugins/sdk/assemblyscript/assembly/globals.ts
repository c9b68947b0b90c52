// These stand for AssemblyScript's globals, whose own versions import functions that taskrt does not have. asconfig.json names them.

import { Date as StandardDate } from "date";

import * as abi from "./abi";

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, iovs: usize, count: i32, written: usize): i32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "proc_exit")
declare function proc_exit(code: i32): void;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "poll_oneoff")
declare function poll_oneoff(subscriptions: usize, events: usize, count: i32, got: usize): i32;

// abort allocates nothing, because there may be no more memory, or no more stack for the garbage collector.
const MAX_CHARS: i32 = 1000; // at most three bytes each
const line = memory.data(4096);
const iov = memory.data(16);

function writeLine(fd: i32, n: usize): void {
  store<u32>(iov, <u32>line);
  store<u32>(iov, <u32>n, 4);
  fd_write(fd, iov, 1, iov + 8);
}

function put(to: usize, text: usize): usize {
  if (text == 0) return to;
  const chars = min(<i32>(load<u32>(text - 4) >> 1), MAX_CHARS); // rtSize of the object's header
  return to + String.UTF8.encodeUnsafe(text, chars, to, false, String.UTF8.ErrorMode.REPLACE);
}

function putNumber(to: usize, n: u32): usize {
  if (n >= 10) to = putNumber(to, n / 10);
  store<u8>(to, <u8>(48 + (n % 10)));
  return to + 1;
}

function putByte(to: usize, b: u8): usize {
  store<u8>(to, b);
  return to + 1;
}

/**
 * Ends the attempt as a trap, which is retried as the behavior's `onTrap` says. The line that it writes to standard error becomes the
 * error's message, "panic: MESSAGE at FILE:LINE:COLUMN"; the host adds the stack. `throw`, `assert` and `abort` come here.
 */
export function abort(message: string | null, file: string | null, lineNumber: u32, column: u32): void {
  let to = line;
  store<u64>(to, 0x203a63696e6170); // "panic: "
  to = put(to + 7, changetype<usize>(message));
  if (file !== null) {
    store<u32>(to, 0x20746120); // " at "
    to = put(to + 4, changetype<usize>(file));
    to = putNumber(putByte(to, 0x3a), lineNumber);
    to = putNumber(putByte(to, 0x3a), column);
  }
  writeLine(2, putByte(to, 0x0a) - line);
  unreachable();
}

/** A line of the log at level trace: the message and n numbers. */
export function trace(message: string, n: i32 = 0, a0: f64 = 0, a1: f64 = 0, a2: f64 = 0, a3: f64 = 0, a4: f64 = 0): void {
  const numbers: StaticArray<f64> = [a0, a1, a2, a3, a4];
  for (let i = 0; i < min(n, 5); i++) message += " " + numbers[i].toString();
  logText(0, message);
}

/** The start of `Math.random`: the host's randomness. Before an attempt begins it is always the same number. */
export function seed(): f64 {
  store<u32>(iov, 8);
  if (abi.call(abi.op.RANDOM, iov, 4) < 0) return 0.5;
  abi.read(abi.channel.RESPONSE, iov, 0, 8);
  return reinterpret<f64>(load<u64>(iov));
}

export namespace console {
  export function assert<T>(condition: T, message: string = ""): void {
    if (!condition) logText(4, "assertion failed: " + message);
  }
  export function log(message: string = ""): void {
    logText(2, message);
  }
  export function debug(message: string = ""): void {
    logText(1, message);
  }
  export function info(message: string = ""): void {
    logText(2, message);
  }
  export function warn(message: string = ""): void {
    logText(3, message);
  }
  export function error(message: string = ""): void {
    logText(4, message);
  }
}

/** A message of the log. */
export function logText(level: i32, message: string): void {
  const text = String.UTF8.encode(message, false, String.UTF8.ErrorMode.REPLACE);
  abi.log(level, changetype<usize>(text), text.byteLength);
}

export namespace crypto {
  /** Fills an array with the host's randomness. */
  export function getRandomValues(to: Uint8Array): void {
    for (let at = 0; at < to.length; ) {
      const n = min(to.length - at, abi.MAX_RANDOM);
      store<u32>(iov, n);
      assert(abi.call(abi.op.RANDOM, iov, 4) == n, "the host gives no randomness before an attempt");
      abi.read(abi.channel.RESPONSE, to.dataStart + at, 0, n);
      at += n;
    }
  }
}

/** Stands for the standard library's `Date`, with the time of the host. */
export class HostDate extends StandardDate {
  /** Unix ms. */
  static now(): i64 {
    return abi.readClock(abi.clock.WALL);
  }
}

export namespace performance {
  /** Milliseconds since the attempt began. */
  export function now(): f64 {
    return <f64>abi.readClock(abi.clock.MONOTONIC) / 1e6;
  }
}

export namespace process {
  /** Ends the attempt: 0 is the failure NO_RESULT, any other code a retryable one. Behaviors return an `Outcome` instead. */
  export function exit(code: i32 = 0): void {
    proc_exit(code);
    unreachable();
  }

  /** The time of the host in Unix ms. */
  export function time(): i64 {
    return abi.readClock(abi.clock.WALL);
  }

  /** Nanoseconds since the attempt began. */
  export function hrtime(): u64 {
    return abi.readClock(abi.clock.MONOTONIC);
  }

  /** Writes text to standard output, which is part of the log. */
  export function stdout(text: string): void {
    writeAll(1, String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
  }

  /** Writes text to standard error, which is part of the log; its end is kept with an error. */
  export function stderr(text: string): void {
    writeAll(2, String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
  }
}

function writeAll(fd: i32, text: ArrayBuffer): void {
  for (let at = 0; at < text.byteLength; ) {
    store<u32>(iov, <u32>changetype<usize>(text) + at);
    store<u32>(iov, text.byteLength - at, 4);
    const failed = fd_write(fd, iov, 1, iov + 8) != 0;
    const wrote = load<i32>(iov, 8);
    if (failed || wrote <= 0) return; // there is nobody else to tell
    at += wrote;
  }
}

/** Waits. To wait for long, use `Outcome.yieldUntil`: it lets other tasks run, and survives the worker. */
export function sleep(ms: i64): void {
  const subscription = memory.data(48, 8);
  const event = memory.data(32, 8);
  memory.fill(subscription, 0, 48);
  store<u32>(subscription, 1, 16); // the monotonic clock
  store<u64>(subscription, <u64>max(ms, 0) * 1_000_000, 24);
  poll_oneoff(subscription, event, 1, iov);
}
