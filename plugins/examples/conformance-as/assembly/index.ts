// Conformance is the guest of abi/abitest in AssemblyScript: what its package comment asks of every SDK language, one function per
// case. It is a test, and a list of everything that the SDK can do.

import { Answer, Behavior, Bytes, Context, Json, Level, Outcome, Status, decode, encode, op, process, register, sleep, statusText } from "@taskrt/sdk";
export { taskrt_describe, taskrt_run } from "@taskrt/sdk";

type Case = (c: Context, arg: Uint8Array) => Outcome;

const cases = new Map<string, Case>();
cases.set("echo", (c, arg) => Outcome.bytes(arg));
cases.set("sum", sum);
cases.set("empty", () => Outcome.ok());
cases.set("fill", (c, arg) => Outcome.bytes(new Uint8Array(<i32>number(arg)).fill(0x78)));
cases.set("fail-retry", (c, arg) => Outcome.retryable(head(arg), decode(tail(arg))));
cases.set("fail-permanent", (c, arg) => Outcome.fail(head(arg), decode(tail(arg))));
cases.set("fail-plain", (c, arg) => Outcome.error(decode(arg)));
cases.set("fail-details", failDetails);
cases.set("beat", beat);
cases.set("signals", c => Outcome.text(c.signals.bits.toString()));
cases.set("wait-cancel", waitCancel);
cases.set("wait-drain", waitDrain);
cases.set("checkpoint", checkpoint);
cases.set("resume", resume);
cases.set("log", log);
cases.set("stdout", stdout);
cases.set("stderr", stderr);
cases.set("clock", c => Outcome.text([c.now, c.remaining, c.elapsed].join(" ")));
cases.set("sleep", sleeps);
cases.set("random", random);
cases.set("info", c => Outcome.bytes(c.info.raw));
cases.set("config", c => orNone(c.config));
cases.set("yield", (c, arg) => (arg.length == 0 ? Outcome.yieldNow() : Outcome.yieldUntil(number(arg))));
cases.set("again", (c, arg) => Outcome.text("again").runAgain(number(arg)));
cases.set("later", (c, arg) => Outcome.retryable("later", "later").retryAt(number(arg)));
cases.set("panic", panic);
cases.set("exit", exit);
cases.set("blob-size", blobSize);
cases.set("blob-read", blobRead);
cases.set("partitions", (c, arg) => answer(c.call(op.PARTITIONS, arg)));

const conformance = new Behavior("conformance", run);
conformance.description = "the conformance guest of ABI v1";
register(conformance);

/** Dispatches "CASE" or "CASE ARG". */
function run(c: Context): Outcome {
  const start = new Uint8Array(7); // of params that may be more than fits in memory
  const n = c.paramsReader().readAt(start, 0);
  if (head(start.subarray(0, n)) == "pieces") return pieces(c);
  const name = head(c.params);
  if (!cases.has(name)) return Outcome.fail("unknown_case", name);
  return cases.get(name)(c, tail(c.params));
}

/** What is before the first space. */
function head(text: Uint8Array): string {
  const at = text.indexOf(0x20);
  return decode(at < 0 ? text : text.subarray(0, at));
}

/** What is behind the first space. */
function tail(text: Uint8Array): Uint8Array {
  const at = text.indexOf(0x20);
  return at < 0 ? new Uint8Array(0) : text.subarray(at + 1);
}

function number(arg: Uint8Array): i64 {
  return i64.parse(decode(arg));
}

function sum(c: Context, arg: Uint8Array): Outcome {
  let s: u32 = 0;
  for (let i = 0; i < c.params.length; i++) s += c.params[i];
  return Outcome.text(c.params.length.toString() + " " + s.toString());
}

/** `sum` for params that may be more than fits in memory. */
function pieces(c: Context): Outcome {
  const r = c.paramsReader();
  const piece = new Uint8Array(4096);
  let s: u32 = 0;
  for (let n = r.read(piece); n > 0; n = r.read(piece)) {
    for (let i = 0; i < n; i++) s += piece[i];
  }
  if (r.status != Status.Ok) return Outcome.refused(r.status);
  return Outcome.text(r.position.toString() + " " + s.toString());
}

function failDetails(c: Context, arg: Uint8Array): Outcome {
  const list = Json.array().push(Json.integer(1)).push(Json.integer(2));
  return Outcome.fail("with_details", "see details").withDetails(Json.object().set("k", list));
}

function beat(c: Context, arg: Uint8Array): Outcome {
  let all = 0;
  const n = number(arg);
  for (let i: i64 = 1; i <= n; i++) {
    c.note("step " + i.toString());
    all |= c.heartbeat(i, n).bits;
  }
  return Outcome.text(all.toString());
}

function waitCancel(c: Context, arg: Uint8Array): Outcome {
  while (!c.heartbeat().cancelled) {}
  return Outcome.cancelled();
}

function waitDrain(c: Context, arg: Uint8Array): Outcome {
  while (!c.heartbeat().draining) {}
  const status = c.saveCheckpoint(encode("drained"));
  return status == Status.Ok ? Outcome.yieldNow() : Outcome.refused(status);
}

/** Undoes what the SDK makes of the ABI's numbers, which the suite asks for. */
function refused(s: Status): Outcome {
  return Outcome.fail("errno_" + (-(<i32>s)).toString(), statusText(s));
}

function answer(a: Answer<Uint8Array>): Outcome {
  return a.ok ? Outcome.bytes(a.value!) : refused(a.status);
}

function blobSize(c: Context, arg: Uint8Array): Outcome {
  const blob = c.blob(decode(arg));
  return blob.ok ? Outcome.text(blob.value!.size.toString()) : refused(blob.status);
}

/** "OFFSET N NAME", in one request. */
function blobRead(c: Context, arg: Uint8Array): Outcome {
  const rest = tail(arg);
  const request = new Bytes().bytes(tail(rest)).u64(i64.parse(head(arg))).u32(i32.parse(head(rest)));
  return answer(c.call(op.BLOB_READ, request.take()));
}

function checkpoint(c: Context, arg: Uint8Array): Outcome {
  const status = c.saveCheckpoint(arg);
  return status == Status.Ok ? resume(c, arg) : refused(status);
}

function orNone(b: Uint8Array | null): Outcome {
  return b === null ? Outcome.text("none") : Outcome.bytes(b);
}

function resume(c: Context, arg: Uint8Array): Outcome {
  return orNone(c.checkpoint);
}

function log(c: Context, arg: Uint8Array): Outcome {
  trace("a trace");
  console.debug("a debug");
  c.log(Level.Info, "an info");
  console.warn("a warn");
  c.log(Level.Error, "an error");
  return Outcome.ok();
}

function stdout(c: Context, arg: Uint8Array): Outcome {
  process.stdout(decode(arg) + "\n");
  return Outcome.ok();
}

function stderr(c: Context, arg: Uint8Array): Outcome {
  process.stderr(decode(arg) + "\n");
  return Outcome.ok();
}

function sleeps(c: Context, arg: Uint8Array): Outcome {
  sleep(number(arg));
  return Outcome.text("slept");
}

function random(c: Context, arg: Uint8Array): Outcome {
  const out = new Uint8Array(<i32>number(arg));
  const status = c.random(out);
  return status == Status.Ok ? Outcome.bytes(out) : Outcome.refused(status);
}

function panic(c: Context, arg: Uint8Array): Outcome {
  throw new Error(decode(arg));
}

function exit(c: Context, arg: Uint8Array): Outcome {
  process.exit(<i32>number(arg));
  return Outcome.ok();
}
