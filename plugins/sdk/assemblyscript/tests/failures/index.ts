// A guest for the tests of package sdk: what is wrong with params, and what goes wrong, and what the language has.

import { Behavior, Context, JsonWriter, Outcome, process, register } from "@taskrt/sdk";
export { taskrt_describe, taskrt_run } from "@taskrt/sdk";

/** Params as what they must be; the result is what was read. */
function fields(c: Context): Outcome {
  const p = c.fields();
  const inner = p.object("inner");
  const w = new JsonWriter().beginObject();
  w.name("s").string(p.string("s")).name("t").string(p.stringOr("t", "none"));
  w.name("i").integer(p.integer("i", -5, 5)).name("j").integer(p.integerOr("j", 7));
  w.name("f").number(p.number("f")).name("b").bool(p.bool("b"));
  w.name("n").integer(p.array("list").length).name("x").bool(inner.boolOr("x", true)).name("y").number(inner.numberOr("y", 0.5));
  if (!p.ok) return Outcome.badParams(p.problem).withDetails(c.paramsJson.value);
  return Outcome.bytes(w.endObject().toBytes());
}

/** Ends as a program of the language does that goes wrong; the params say how. */
function crash(c: Context): Outcome {
  const how = c.paramsText;
  if (how == "assert") assert(c.params.length == 0, "params must be empty");
  if (how == "bounds") return Outcome.text([1, 2, 3][c.params.length].toString());
  if (how == "null") return Outcome.bytes(c.config!);
  if (how == "deep") return Outcome.text(recurse(0).toString());
  if (how == "memory") {
    const all: Uint8Array[] = [];
    while (true) all.push(new Uint8Array(1 << 20));
  }
  if (how == "garbage") { // more in all than the limit of the memory
    let sum = 0;
    for (let i = 0; i < 500; i++) sum += new Uint8Array(1 << 20).fill(1)[i];
    return Outcome.text(sum.toString());
  }
  if (how == "long") throw new Error("é".repeat(5000));
  return Outcome.ok();
}

/** What the language has, and the host gives. */
function globals(c: Context): Outcome {
  const now = Date.now();
  const random = new Uint8Array(100_000);
  crypto.getRandomValues(random);
  const w = new JsonWriter().beginObject();
  w.name("now").bool(now >= c.now - 60_000 && now <= c.now);
  w.name("date").string(new Date(1795262400123).toISOString()).name("utc").integer(Date.UTC(2020, 0, 2));
  w.name("performance").bool(performance.now() >= 0 && performance.now() < 60_000);
  w.name("random").bool(Math.random() < 1).name("crypto").bool(random.indexOf(0) >= 0 && random.indexOf(255) >= 0);
  w.name("time").bool(process.time() >= now).name("hrtime").bool(process.hrtime() < 60_000_000_000);
  console.log("log");
  console.assert(false, "assert");
  trace("trace", 2, 0.5, 2);
  return Outcome.bytes(w.endObject().toBytes());
}

function recurse(n: i32): i32 {
  const digits = n.toString();
  return n < 0 ? 0 : recurse(n + 1) + digits.length;
}

register(new Behavior("fields", fields));
register(new Behavior("crash", crash));
register(new Behavior("globals", globals));
