import { encode } from "./bytes";
import { Json } from "./json/value";
import { Status, statusText } from "./status";

/** The numbers are those of the ABI. */
export enum OutcomeKind {
  Ok = 0,
  Retryable = 1,
  Permanent = 2,
  Cancelled = 3,
  Yield = 4,
}

/**
 * The end of an attempt: the value that a behavior's function returns. AssemblyScript has no exceptions to catch. Calls that can fail
 * say so, and `throw` ends the attempt as a trap.
 */
export class Outcome {
  /** Of a success: the bytes of the result; null: none. */
  result: Uint8Array | null = null;
  /** Of a failure: `[a-z0-9_.-]{1,64}`; "": the host's HANDLER_ERROR. */
  code: string = "";
  /** Of a failure. */
  message: string = "";
  /** Of a failure: JSON that is kept in the task's error. */
  details: Uint8Array | null = null;
  /** When the task runs next, in Unix ms; 0: as its policy says. */
  next: i64 = 0;

  private constructor(public kind: OutcomeKind) {}

  /** A success without a result. */
  static ok(): Outcome {
    return new Outcome(OutcomeKind.Ok);
  }

  /** A success. Valid JSON becomes the task's `result`, other bytes its `result_base64`. */
  static bytes(result: Uint8Array): Outcome {
    const o = Outcome.ok();
    o.result = result;
    return o;
  }

  /** `bytes` of text as UTF-8. To be a JSON string the text needs quotes, which `json` writes. */
  static text(result: string): Outcome {
    return Outcome.bytes(encode(result));
  }

  /** `bytes` of a value as JSON. */
  static json(result: Json): Outcome {
    return Outcome.bytes(result.toBytes());
  }

  private static failure(kind: OutcomeKind, code: string, message: string): Outcome {
    const o = new Outcome(kind);
    o.code = code;
    o.message = message;
    return o;
  }

  /** A failure that is not retried. */
  static fail(code: string, message: string): Outcome {
    return Outcome.failure(OutcomeKind.Permanent, code, message);
  }

  /** A failure that may be retried, as the behavior's `retry` says. */
  static retryable(code: string, message: string): Outcome {
    return Outcome.failure(OutcomeKind.Retryable, code, message);
  }

  /** A failure without a code of its own, that may be retried. */
  static error(message: string): Outcome {
    return Outcome.retryable("", message);
  }

  /** Params that no retry makes right: not retried, code `bad_params`. */
  static badParams(message: string): Outcome {
    return Outcome.fail("bad_params", message);
  }

  /** A refusal of the host: a failure that may be retried. */
  static refused(s: Status): Outcome {
    return Outcome.error(statusText(s));
  }

  /** The attempt stopped because it was told to. Return it when `Signals.cancelled` says so. */
  static cancelled(): Outcome {
    return new Outcome(OutcomeKind.Cancelled);
  }

  /**
   * No outcome: the task runs again soon. It counts as no failure. Return it after a checkpoint when draining, or when there is
   * nothing to do yet.
   */
  static yieldNow(): Outcome {
    return new Outcome(OutcomeKind.Yield);
  }

  /** As `yieldNow`, but the task runs again at this time. */
  static yieldUntil(unixMillis: i64): Outcome {
    const o = Outcome.yieldNow();
    o.next = unixMillis;
    return o;
  }

  /** Makes the task run again at this time if it succeeds, whatever the behavior's `repeatEvery` says. The result stands until then. */
  runAgain(unixMillis: i64): Outcome {
    this.next = unixMillis;
    return this;
  }

  /** Makes a failure be retried at this time, whatever the behavior's `retry` says. It still counts as a failure. */
  retryAt(unixMillis: i64): Outcome {
    this.kind = OutcomeKind.Retryable;
    this.next = unixMillis;
    return this;
  }

  /** Makes a failure permanent: it is not retried. */
  permanent(): Outcome {
    this.kind = OutcomeKind.Permanent;
    this.next = 0;
    return this;
  }

  /** Adds JSON that is kept in the task's error. If it is over 16 KiB together with the message, it is dropped. */
  withDetails(details: Json): Outcome {
    this.details = details.toBytes();
    return this;
  }
}
