import * as abi from "./abi";
import { Bytes, decode, encode } from "./bytes";
import { logText } from "./globals";
import { call, readAll, writeText } from "./host";
import { Info } from "./info";
import { Fields } from "./json/fields";
import { Json, JsonParsed } from "./json/value";
import { OperationTask } from "./operation";
import { Partitions } from "./partitions";
import { Reader } from "./reader";
import { Status, statusOf } from "./status";

/** Severity of a line of the log. */
export enum Level {
  Trace = 0,
  Debug = 1,
  Info = 2,
  Warn = 3,
  Error = 4,
}

/** What the host asks of a running attempt. */
export class Signals {
  constructor(
    /** A set: 1 cancel, 2 lease lost, 4 draining, 8 deadline near. */
    readonly bits: i32,
  ) {}

  /** The attempt should stop: the task is being cancelled, or the lease is lost. Return `Outcome.cancelled()`. */
  get cancelled(): bool {
    return (this.bits & 3) != 0;
  }

  /** Another attempt may be running: nothing that this attempt reports counts any more. */
  get leaseLost(): bool {
    return (this.bits & 2) != 0;
  }

  /** The node wants to stop: save a checkpoint and return `Outcome.yieldNow()`. */
  get draining(): bool {
    return (this.bits & 4) != 0;
  }

  /** The attempt's time is nearly over. */
  get deadlineNear(): bool {
    return (this.bits & 8) != 0;
  }
}

/** What the host gives if it grants a request. */
export class Answer<T> {
  constructor(
    /** Null unless the status is Ok. */
    readonly value: T | null,
    readonly status: Status,
  ) {}

  get ok(): bool {
    return this.status == Status.Ok;
  }
}

/** One attempt: its input, and what the host wants from it. */
export class Context {
  private readParams: Uint8Array | null = null;
  private readInfo: Info | null = null;

  /** The task's params as submitted: JSON, or any bytes; empty if there were none. `paramsReader` reads them in pieces. */
  get params(): Uint8Array {
    let p = this.readParams;
    if (p === null) {
      p = readAll(abi.channel.PARAMS);
      if (p === null) p = new Uint8Array(0);
      this.readParams = p;
    }
    return p;
  }

  /** The params as text. */
  get paramsText(): string {
    return decode(this.params);
  }

  /** The params as JSON. */
  get paramsJson(): JsonParsed {
    return Json.parse(this.params);
  }

  /** The params' members. If the params are no JSON object, this is a problem of the Fields, too. */
  fields(): Fields {
    const parsed = this.paramsJson;
    const f = new Fields(parsed.value);
    if (!parsed.ok) f.wrong(parsed.error);
    else if (!parsed.value.isObject) f.wrong("params must be an object");
    return f;
  }

  /** The params in pieces: they may be more than fits in memory. */
  paramsReader(): Reader {
    return new Reader(max(abi.len(abi.channel.PARAMS), 0), abi.channel.PARAMS, null);
  }

  /** The params of a task of an operation. */
  operationTask(): OperationTask {
    return new OperationTask(this.params);
  }

  /** What is known of the task and the attempt. */
  get info(): Info {
    let info = this.readInfo;
    if (info === null) {
      const text = readAll(abi.channel.INFO);
      info = new Info(text === null ? new Uint8Array(0) : text);
      this.readInfo = info;
    }
    return info;
  }

  /** The module's configuration, set by the operator; null if there is none. */
  get config(): Uint8Array | null {
    return readAll(abi.channel.CONFIG);
  }

  /**
   * Says that the attempt makes progress: done of total, in any unit; total 0 if unknown. It costs well under a microsecond, so
   * call it often.
   */
  heartbeat(done: i64 = 0, total: i64 = 0): Signals {
    return new Signals(max(abi.beat(done, total), 0));
  }

  /** The signals without a heartbeat. */
  get signals(): Signals {
    return new Signals(max(abi.signals(), 0));
  }

  /** Replaces the attempt's progress note, which readers of the task see beside done and total. */
  note(text: string): void {
    writeText(abi.channel.PROGRESS, text);
  }

  /** The last checkpoint that an earlier attempt of this task, or this attempt, saved; null if there is none. */
  get checkpoint(): Uint8Array | null {
    return readAll(abi.channel.CHECKPOINT);
  }

  /** The checkpoint as JSON; null if there is none, or it is no JSON. */
  get checkpointJson(): Json | null {
    const text = this.checkpoint;
    if (text === null) return null;
    const parsed = Json.parse(text);
    return parsed.ok ? parsed.value : null;
  }

  /** The checkpoint in pieces; null if there is none. */
  checkpointReader(): Reader | null {
    const n = abi.len(abi.channel.CHECKPOINT);
    return n < 0 ? null : new Reader(n, abi.channel.CHECKPOINT, null);
  }

  /**
   * Stores data with the task. When it returns Ok, a majority of the cluster has the data on disk, and the next attempt finds it wherever
   * it runs. This costs a round of consensus: save every second or so. After Unavailable (there is no leader right now; the data may or
   * may not be stored) go on and save again later. After LeaseLost return.
   */
  saveCheckpoint(data: Uint8Array): Status {
    return statusOf(call(abi.op.CHECKPOINT_SAVE, data));
  }

  /** `saveCheckpoint` of a value as JSON. */
  saveCheckpointJson(v: Json): Status {
    return this.saveCheckpoint(v.toBytes());
  }

  /** The time of the host, in Unix ms. */
  get now(): i64 {
    return abi.readClock(abi.clock.WALL);
  }

  /** When the attempt's time is over, in Unix ms. */
  get deadline(): i64 {
    return this.now + this.remaining;
  }

  /** How much time the attempt has left, in ms. */
  get remaining(): i64 {
    return abi.readClock(abi.clock.DEADLINE);
  }

  /** Nanoseconds, for measuring. They only move forward, and only differences of them mean something. */
  get elapsed(): i64 {
    return abi.readClock(abi.clock.MONOTONIC);
  }

  /** Fills an array with random bytes from the host. */
  random(to: Uint8Array): Status {
    for (let at = 0; at < to.length; ) {
      const n = min(to.length - at, abi.MAX_RANDOM);
      const got = call(abi.op.RANDOM, new Bytes().u32(n).take());
      if (got < 0) return statusOf(got);
      if (abi.read(abi.channel.RESPONSE, to.dataStart + at, 0, n) != n) return Status.Invalid;
      at += n;
    }
    return Status.Ok;
  }

  /**
   * Opens a blob by its name, "sha256:" and 64 hexadecimal digits. NotFound: no node has it. Unavailable: it cannot be had now, so
   * end with a retryable failure.
   */
  blob(name: string): Answer<Reader> {
    const bytes = encode(name);
    if (bytes.length != abi.BLOB_NAME) return new Answer<Reader>(null, Status.Invalid);
    const n = call(abi.op.BLOB_SIZE, bytes);
    if (n < 0) return new Answer<Reader>(null, statusOf(n));
    const size = readAll(abi.channel.RESPONSE);
    if (size === null || size.length != 8) return new Answer<Reader>(null, Status.Invalid);
    return new Answer<Reader>(new Reader(load<i64>(size.dataStart), 0, bytes), Status.Ok);
  }

  /** The partitions of the operation that the task is part of, from this index on. */
  partitions(from: i64 = 0): Partitions {
    return new Partitions(from);
  }

  /** A request of the ABI (abi/README.md, "Ops of call") that has no method here. Unsupported: this host does not know the request. */
  call(op: i32, payload: Uint8Array): Answer<Uint8Array> {
    const n = call(op, payload);
    if (n < 0) return new Answer<Uint8Array>(null, statusOf(n));
    const response = readAll(abi.channel.RESPONSE);
    return new Answer<Uint8Array>(response === null ? new Uint8Array(0) : response, Status.Ok);
  }

  /** Adds a line to the task's log (`taskrt logs ID`). The log is bounded: lines over the limit are dropped. */
  log(level: Level, message: string): void {
    logText(level, message);
  }
}
