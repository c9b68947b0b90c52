// A guest for the tests of package sdk: behaviors that show what only a host can judge.

import {
  Behavior, Context, HOUR, Id, FOREVER, Json, JsonWriter, Level, MINUTE, NO_JITTER, OnError, Operation, OperationConcurrency, Outcome, SECOND,
  Span, Status, UNLIMITED, blobName, register,
} from "@taskrt/sdk";
export { taskrt_describe, taskrt_run } from "@taskrt/sdk";

/**
 * Params are texts, each behind its length as a little-endian u32. The result is an array with a `[VALUE]` for each text that is
 * JSON, and for each other one where it stops being JSON, in bytes.
 */
function json(c: Context): Outcome {
  const params = c.params;
  const w = new JsonWriter().beginArray();
  for (let at = 0; at < params.length; ) {
    const n = load<u32>(params.dataStart + at);
    const parsed = Json.parse(params.subarray(at + 4, at + 4 + n));
    if (parsed.ok) {
      w.beginArray();
      parsed.value.write(w);
      w.endArray();
    } else {
      w.integer(parsed.offset);
    }
    at += 4 + n;
  }
  return Outcome.bytes(w.endArray().toBytes());
}

/** A partition: the length of the blob that the argument names, or of the partition's name. */
function part(c: Context): Outcome {
  const task = c.operationTask();
  if (!task.ok) return Outcome.badParams(task.problem);
  const arg = Json.parse(task.arg).value;
  if (arg.isNull) return Outcome.json(Json.integer(task.partition.length));
  const blob = c.blob(blobName(arg));
  if (!blob.ok) return Outcome.refused(blob.status);
  const r = blob.value!;
  const piece = new Uint8Array(2 << 20); // more than one request may ask for
  let read: i64 = 0;
  for (let n = r.read(piece); n > 0; n = r.read(piece)) read += n;
  if (r.status != Status.Ok) return Outcome.refused(r.status);
  return Outcome.json(Json.integer(read == r.size ? read : -1));
}

/** The completion: what became of all partitions. */
function done(c: Context): Outcome {
  const task = c.operationTask();
  if (!task.ok) return Outcome.badParams(task.problem);
  let sum: i64 = 0;
  const texts = Json.array();
  const failed = Json.array();
  const all = c.partitions();
  for (let p = all.next(); p !== null; p = all.next()) {
    const error = p.error;
    const result = p.result;
    if (error !== null) failed.push(Json.string(`${p.index} ${p.name} ${error.code} ${error.retryable}`));
    else if (p.binary) texts.push(Json.string("[" + result!.join(", ") + "]"));
    else sum += Json.parse(result!).value.asInteger;
  }
  if (all.status != Status.Ok) return Outcome.refused(all.status);
  const counts = Json.array().push(Json.integer(task.succeeded)).push(Json.integer(task.failed));
  return Outcome.json(Json.object().set("sum", Json.integer(sum)).set("texts", texts).set("failed", failed).set("counts", counts));
}

/** The cleanup: what it tidies up. */
function tidy(c: Context): Outcome {
  const task = c.operationTask();
  if (!task.ok) return Outcome.badParams(task.problem);
  c.log(Level.Info, "tidying " + task.partition);
  return Outcome.json(Json.string(task.partition + " " + task.token.toString()));
}

/** Spans, the last of them open. */
function spans(c: Context): Outcome {
  const work = Span.begin("work", ["file", "a\nb", "rows", "3"]);
  const part = Span.begin("part");
  part.fail("row 7\nis bad");
  part.end();
  Span.begin("x", ["BAD KEY", "v"]).end(); // nothing: what is around it goes on
  Span.begin("").fail("");
  Span.begin("x".repeat(99)).end();
  work.end();
  Span.begin("open");
  return Outcome.ok();
}

const partition = new Behavior("part", part);
const operation = new Operation();
operation.concurrency = OperationConcurrency.OnePerObject;
operation.incompatibleWith = ["json"];
operation.runAll = true;
operation.restart = true;
operation.complete = "done";
operation.cleanup = "tidy";
partition.operation = operation;

const policy = new Behavior("policy", () => Outcome.ok());
policy.description = 'every "field" — of the manifest';
policy.id = Id.Params;
policy.idFrom = ["/a", "/b/0"];
policy.retry.maxAttempts = UNLIMITED;
policy.retry.initialInterval = 1500;
policy.retry.multiplierThousandths = 1500;
policy.retry.maxInterval = 90 * SECOND;
policy.retry.jitterPercent = NO_JITTER;
policy.runTimeout = MINUTE + SECOND;
policy.heartbeatTimeout = 2 * SECOND;
policy.cancelGrace = 3 * SECOND;
policy.repeatEvery = 100;
policy.repeatOnError = true;
policy.limits.memory = 32 << 20;
policy.limits.fuel = 1 << 53;
policy.limits.params = 1;
policy.limits.result = 2;
policy.limits.checkpoint = 3;
policy.limits.log = 4;
policy.concurrency.max = 8;
policy.concurrency.key = "/k";
policy.concurrency.perKey = 9;
policy.concurrency.strict = true;
policy.onTrap = OnError.Fail;
policy.onTimeout = OnError.Fail;
policy.onExhausted = OnError.Retry;
policy.maxLost = 7;
policy.keepSuccess = FOREVER;
policy.keepFailure = HOUR;
policy.keepCount = 10;
policy.resultRequired = true;
policy.paramsSchema = '{"type": "object"}';
policy.resultSchema = "true";

register(new Behavior("json", json));
register(partition);
register(new Behavior("done", done));
register(new Behavior("tidy", tidy));
register(policy);
register(new Behavior("spans", spans));
