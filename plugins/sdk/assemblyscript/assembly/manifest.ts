import { Behavior, FOREVER, Id, Limits, OnError, Operation, OperationConcurrency, Retry } from "./behavior";
import { encode } from "./bytes";
import { JsonWriter } from "./json/write";

/** The manifest as JSON. What is at its default is left out: the host fills in its own. */
export function manifest(behaviors: Behavior[]): Uint8Array {
  const w = new JsonWriter().beginObject();
  w.name("schema").integer(1).name("behaviors").beginArray();
  for (let i = 0; i < behaviors.length; i++) behavior(w, behaviors[i]);
  return w.endArray().endObject().toBytes();
}

function behavior(w: JsonWriter, b: Behavior): void {
  w.beginObject();
  text(w, "name", b.name);
  text(w, "description", b.description);
  id(w, b);
  retry(w, b.retry);
  duration(w, "run_timeout", b.runTimeout);
  duration(w, "heartbeat_timeout", b.heartbeatTimeout);
  duration(w, "cancel_grace", b.cancelGrace);
  duration(w, "repeat_every", b.repeatEvery);
  if (b.repeatOnError) text(w, "repeat_on", "any");
  limits(w, b.limits);
  const o = b.operation;
  if (o !== null) operation(w, o);
  onError(w, "on_trap", b.onTrap);
  onError(w, "on_timeout", b.onTimeout);
  onError(w, "on_exhausted", b.onExhausted);
  integer(w, "max_lost", b.maxLost);
  integer(w, "max_concurrent", b.concurrency.max);
  text(w, "concurrency_key", b.concurrency.key);
  integer(w, "max_per_key", b.concurrency.perKey);
  if (b.concurrency.strict) text(w, "key_order", "strict");
  if (b.keepSuccess != 0 || b.keepFailure != 0 || b.keepCount != 0) {
    w.name("retention").beginObject();
    keep(w, "success", b.keepSuccess);
    keep(w, "failure", b.keepFailure);
    integer(w, "count", b.keepCount);
    w.endObject();
  }
  if (b.resultRequired) text(w, "result", "required");
  // The host refuses a manifest that a schema makes invalid, and says where.
  if (b.paramsSchema.length > 0) w.name("params_schema").raw(encode(b.paramsSchema));
  if (b.resultSchema.length > 0) w.name("result_schema").raw(encode(b.resultSchema));
  w.endObject();
}

function id(w: JsonWriter, b: Behavior): void {
  if (b.id == Id.Default && b.idFrom.length == 0) return;
  w.name("id").beginObject();
  if (b.id == Id.Random) text(w, "strategy", "random");
  else if (b.id == Id.Params) text(w, "strategy", "params");
  else if (b.id == Id.Caller) text(w, "strategy", "caller");
  texts(w, "from", b.idFrom);
  w.endObject();
}

function retry(w: JsonWriter, r: Retry): void {
  const none = r.maxAttempts == 0 && r.initialInterval == 0 && r.multiplierThousandths == 0 && r.maxInterval == 0 && r.jitterPercent == 0;
  if (none) return;
  w.name("retry").beginObject();
  unless(w, "max_attempts", r.maxAttempts);
  duration(w, "initial_interval", r.initialInterval);
  integer(w, "multiplier_thousandths", r.multiplierThousandths);
  duration(w, "max_interval", r.maxInterval);
  unless(w, "jitter_percent", r.jitterPercent);
  w.endObject();
}

function limits(w: JsonWriter, l: Limits): void {
  if ((l.memory | l.fuel | l.params | l.result | l.checkpoint | l.log) == 0) return;
  w.name("limits").beginObject();
  integer(w, "memory_bytes", l.memory);
  integer(w, "fuel", l.fuel);
  integer(w, "params_bytes", l.params);
  integer(w, "result_bytes", l.result);
  integer(w, "checkpoint_bytes", l.checkpoint);
  integer(w, "log_bytes", l.log);
  w.endObject();
}

function operation(w: JsonWriter, o: Operation): void {
  w.name("operation").beginObject();
  if (o.concurrency == OperationConcurrency.OnePerTarget) text(w, "concurrency", "one_per_target");
  else if (o.concurrency == OperationConcurrency.OnePerObject) text(w, "concurrency", "one_per_object");
  texts(w, "incompatible_with", o.incompatibleWith);
  if (o.runAll) text(w, "on_failure", "run_all");
  if (o.restart) text(w, "resume", "restart");
  text(w, "complete", o.complete);
  text(w, "cleanup", o.cleanup);
  w.endObject();
}

function text(w: JsonWriter, name: string, s: string): void {
  if (s.length > 0) w.name(name).string(s);
}

function texts(w: JsonWriter, name: string, list: string[]): void {
  if (list.length == 0) return;
  w.name(name).beginArray();
  for (let i = 0; i < list.length; i++) w.string(list[i]);
  w.endArray();
}

function integer(w: JsonWriter, name: string, n: i64): void {
  if (n != 0) w.name(name).integer(n);
}

/** A number of which -1 stands for 0, which is not the default. */
function unless(w: JsonWriter, name: string, n: i32): void {
  if (n == -1) w.name(name).integer(0);
  else integer(w, name, n);
}

function duration(w: JsonWriter, name: string, ms: i64): void {
  if (ms != 0) w.name(name).string(ms.toString() + "ms");
}

function keep(w: JsonWriter, name: string, ms: i64): void {
  if (ms == FOREVER) text(w, name, "never");
  else duration(w, name, ms);
}

function onError(w: JsonWriter, name: string, e: OnError): void {
  if (e == OnError.Retry) text(w, name, "retry");
  else if (e == OnError.Fail) text(w, name, "fail");
}
