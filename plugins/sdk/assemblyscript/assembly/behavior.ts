import { Context } from "./context";
import { Outcome } from "./outcome";

/** Lengths of time, in ms. */
export const MILLISECOND: i64 = 1;
export const SECOND: i64 = 1000;
export const MINUTE: i64 = 60 * SECOND;
export const HOUR: i64 = 60 * MINUTE;
/** As `keepSuccess` or `keepFailure`: until they are removed. */
export const FOREVER: i64 = -1;
/** As `Retry.maxAttempts`. */
export const UNLIMITED: i32 = -1;
/** As `Retry.jitterPercent`. */
export const NO_JITTER: i32 = -1;

/** How a task gets its ID when the caller gives none. */
export enum Id {
  /** The host's default: as `Random`. */
  Default,
  /** A UUIDv7. */
  Random,
  /** A hash of the params, so that equal submissions share one task. */
  Params,
  /** The caller must give one. */
  Caller,
}

/**
 * A retryable failure number n is followed by another attempt after `initialInterval` × (`multiplierThousandths`/1000)^(n-1), at
 * most `maxInterval`, less up to `jitterPercent` of it.
 */
export class Retry {
  /** 0: 1, no retry; `UNLIMITED`: no limit. */
  maxAttempts: i32 = 0;
  /** In ms. */
  initialInterval: i64 = 0;
  multiplierThousandths: i32 = 0;
  /** In ms. */
  maxInterval: i64 = 0;
  /** 0: the default; `NO_JITTER`: none. */
  jitterPercent: i32 = 0;
}

/** What one attempt may use, read and write, in bytes; fuel in units, about one an instruction. 0: the host's default. */
export class Limits {
  memory: i64 = 0;
  fuel: i64 = 0;
  params: i64 = 0;
  result: i64 = 0;
  checkpoint: i64 = 0;
  log: i64 = 0;
}

/** How many tasks of the behavior run at the same time, in the whole cluster. */
export class Concurrency {
  /** 0: no limit. */
  max: i32 = 0;
  /** JSON pointer into the params: tasks with the same value there share `perKey`; "": none. */
  key: string = "";
  /** Tasks per key; 0: 1. */
  perKey: i32 = 0;
  /** A task that waits for its retry keeps its place: with one task per key, tasks run strictly in order. */
  strict: bool = false;
}

/** Which operations of a behavior may run at the same time. */
export enum OperationConcurrency {
  Many,
  OnePerTarget,
  /** Of the same target. */
  OnePerObject,
}

/**
 * Makes the behavior's function do one partition of an operation. `repeatEvery`, `id` and `concurrency.key` must be left
 * alone then: an operation names its tasks itself, and each of its tasks ends once.
 */
export class Operation {
  concurrency: OperationConcurrency = OperationConcurrency.Many;
  /** Behaviors whose operations may not run on the same target at the same time. */
  incompatibleWith: string[] = [];
  /** A partition that fails does not cancel the rest. */
  runAll: bool = false;
  /** A checkpoint does not outlive its attempt: a partition that moves to another worker begins anew. */
  restart: bool = false;
  /** Behavior of this module that runs when every partition has ended; "": none. */
  complete: string = "";
  /** Behavior of this module that runs where a partition ran that was cancelled, failed or taken away. */
  cleanup: string = "";
}

/** Whether a kind of failure is retried, within the behavior's `retry`. */
export enum OnError {
  Default,
  Retry,
  Fail,
}

/**
 * A named definition of what tasks do: a policy, and the function that does the work. Fields that are left alone are the host's
 * default, which docs/plugin-manifest.md lists.
 */
export class Behavior {
  description: string = "";
  id: Id = Id.Default;
  /** With `Id.Params`: JSON pointers to the params that count; none: all of them. */
  idFrom: string[] = [];
  retry: Retry = new Retry();
  /** Bounds one attempt, in ms. */
  runTimeout: i64 = 0;
  /** An attempt that does not call `heartbeat` for this many ms is killed; 0: none. */
  heartbeatTimeout: i64 = 0;
  /** Between the cancel signal and the kill, in ms. */
  cancelGrace: i64 = 0;
  limits: Limits = new Limits();
  /** After a success the task runs again this many ms after its end; 0: it does not. */
  repeatEvery: i64 = 0;
  /** With `repeatEvery`: after a final failure too. */
  repeatOnError: bool = false;
  concurrency: Concurrency = new Concurrency();
  /** Makes `taskrt op start NAME` possible; null: the behavior has no operations. */
  operation: Operation | null = null;
  /** A run that trapped: `throw`, `assert`, an index out of bounds, a null where none may be. */
  onTrap: OnError = OnError.Default;
  /** A run past `runTimeout` or `heartbeatTimeout`. */
  onTimeout: OnError = OnError.Default;
  /** A run out of memory or fuel. */
  onExhausted: OnError = OnError.Default;
  /** How often the task's worker may die before the task fails with LOST_TOO_OFTEN. */
  maxLost: i32 = 0;
  /** A success without a result is the failure NO_RESULT. */
  resultRequired: bool = false;
  /** JSON Schema 2020-12; a submit that does not match is refused. "": none. */
  paramsSchema: string = "";
  /** JSON Schema 2020-12. "": none. */
  resultSchema: string = "";
  /** How long finished tasks are kept, in ms; 0: as the namespace says; `FOREVER`. */
  keepSuccess: i64 = 0;
  keepFailure: i64 = 0;
  /** How many finished tasks are kept, the newest; 0: all. */
  keepCount: i64 = 0;

  constructor(
    /** 3 to 128 of `a-z0-9._-`: the NAME of `taskrt submit NAME`. */
    readonly name: string,
    /** Does one attempt. */
    readonly run: (c: Context) => Outcome,
  ) {}
}

/** The behaviors in order of registration: the index is the argument of taskrt_run. */
export const registry: Behavior[] = [];

/**
 * Makes a behavior part of the module. Call it at the top level of the module, never later: the host reads the list once, at
 * upload. A bad or repeated name is a trap, so that such a module cannot be uploaded.
 */
export function register(b: Behavior): void {
  if (!validName(b.name)) throw new Error("register: a behavior's name is 3 to 128 of a-z0-9._-, not " + b.name);
  if (lookup(b.name) !== null) throw new Error("register: " + b.name + " is registered twice");
  registry.push(b);
}

/** The behavior of this name; null if there is none. */
export function lookup(name: string): Behavior | null {
  for (let i = 0; i < registry.length; i++) {
    if (registry[i].name == name) return registry[i];
  }
  return null;
}

function validName(s: string): bool {
  if (s.length < 3 || s.length > 128) return false;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    const ok = (c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x39) || c == 0x2e || c == 0x5f || c == 0x2d;
    if (!ok) return false;
  }
  return true;
}
