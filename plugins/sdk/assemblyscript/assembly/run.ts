import * as abi from "./abi";
import { Behavior, lookup, registry } from "./behavior";
import { decode } from "./bytes";
import { Context } from "./context";
import { write, writeText } from "./host";
import { Json } from "./json/value";
import { JsonWriter } from "./json/write";
import { manifest } from "./manifest";
import { Outcome, OutcomeKind } from "./outcome";
import { Status, statusOf, statusText } from "./status";

/** The export that runs one attempt. */
export function taskrt_run(index: i32): i32 {
  const c = new Context();
  const b = pick(c, index);
  if (b === null) return finish(Outcome.fail("unknown_behavior", "this module has no behavior number " + index.toString()));
  return finish(b.run(c));
}

/** The export that writes the manifest; the host calls it once, at upload. */
export function taskrt_describe(): void {
  const n = write(abi.channel.MANIFEST, manifest(registry));
  if (n < 0) throw new Error("the manifest was refused: " + statusText(statusOf(n)));
}

/**
 * The index is the behavior's place in the manifest; where a module has several, the task's own word for it goes first, because a
 * manifest given at upload may list them in another order.
 */
function pick(c: Context, index: i32): Behavior | null {
  if (registry.length > 1) {
    const named = lookup(c.info.behavior);
    if (named !== null) return named;
  }
  return index >= 0 && index < registry.length ? registry[index] : null;
}

/** Writes what the outcome needs and returns it. */
function finish(o: Outcome): i32 {
  const kind = o.kind;
  if (o.next != 0 && kind != OutcomeKind.Cancelled) writeText(abi.channel.NEXT_TIME, o.next.toString());
  if (kind == OutcomeKind.Retryable || kind == OutcomeKind.Permanent) {
    writeError(o.code, o.message, o.details);
  } else if (kind == OutcomeKind.Ok) {
    const result = o.result;
    if (result === null) return OutcomeKind.Ok;
    const n = write(abi.channel.RESULT, result);
    if (n < 0) {
      writeError("too_big", "the result of " + result.length.toString() + " bytes was refused: " + statusText(statusOf(n)), null);
      return OutcomeKind.Permanent;
    }
  }
  return kind;
}

/** Writes {"code","message","details"}; if the host finds that too big, the start of the message alone. */
function writeError(code: string, message: string, details: Uint8Array | null): void {
  const most = 1000; // characters of a message; the rest belongs in the log
  if (write(abi.channel.ERROR_DETAIL, errorDetail(code, clip(message, most), details)) == Status.TooLarge) {
    write(abi.channel.ERROR_DETAIL, errorDetail(code, clip(message, 200), null));
  }
}

/** Cuts text to at most n units of UTF-16, not inside a character. */
function clip(s: string, n: i32): string {
  if (s.length <= n) return s;
  return s.substring(0, (s.charCodeAt(n) & 0xfc00) == 0xdc00 ? n - 1 : n);
}

function errorDetail(code: string, message: string, details: Uint8Array | null): Uint8Array {
  const w = new JsonWriter().beginObject();
  if (code.length > 0) w.name("code").string(code);
  w.name("message").string(message);
  if (details !== null) {
    w.name("details");
    if (Json.parse(details).ok) w.raw(details);
    else w.string(decode(details));
  }
  return w.endObject().toBytes();
}
