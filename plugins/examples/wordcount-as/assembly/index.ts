// Wordcount in AssemblyScript: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}, byte for byte as the example in Go says it.

import { Behavior, Context, Id, JsonWriter, MINUTE, Outcome, register } from "@taskrt/sdk";
import { isLetterOrDigit } from "./letters";
export { taskrt_describe, taskrt_run } from "@taskrt/sdk";

let text = ""; // of the params; functions that sort cannot have it any other way

/** Where a word begins in the text, and behind it where it ends. */
function slice(start: i32, end: i32): u64 {
  return ((<u64>start) << 32) | end;
}

// @ts-ignore: decorator
@inline
function start(word: u64): i32 {
  return <i32>(word >> 32);
}

// @ts-ignore: decorator
@inline
function end(word: u64): i32 {
  return <i32>word;
}

/** A unit of UTF-16 as a number whose order is that of UTF-8: halves of pairs come last. */
// @ts-ignore: decorator
@inline
function ordered(unit: i32): i32 {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function compare(a: u64, b: u64): i32 {
  let i = start(a);
  let j = start(b);
  for (; i < end(a) && j < end(b); i++, j++) {
    const order = ordered(text.charCodeAt(i)) - ordered(text.charCodeAt(j));
    if (order != 0) return order;
  }
  return end(a) - i - (end(b) - j);
}

/** The words of the text, each once and in order, and how often they are there. */
class Counter {
  total: i64 = 0;
  words: u64[] = [];
  counts: i64[] = [];
  private found: u64[] = []; // that are not counted yet

  add(word: u64): void {
    this.found.push(word);
    if (this.found.length >= max(1 << 15, this.words.length)) this.merge();
  }

  /** Counts what was found. That is rare enough that going through all words each time costs no more than sorting. */
  merge(): void {
    const found = this.found.sort(compare);
    this.total += found.length;
    const words: u64[] = [];
    const counts: i64[] = [];
    let at = 0;
    for (let i = 0; i < this.words.length || at < found.length; ) {
      const order = i == this.words.length ? 1 : at == found.length ? -1 : compare(this.words[i], found[at]);
      const word = order > 0 ? found[at] : this.words[i];
      let count: i64 = order > 0 ? 0 : this.counts[i++];
      for (; at < found.length && compare(found[at], word) == 0; at++) count++;
      words.push(word);
      counts.push(count);
    }
    this.words = words;
    this.counts = counts;
    this.found = [];
  }
}

function count(): Counter {
  const all = new Counter();
  let begun = -1;
  for (let i = 0; i < text.length; ) {
    const c = text.codePointAt(i);
    if (!isLetterOrDigit(c)) {
      if (begun >= 0) all.add(slice(begun, i));
      begun = -1;
    } else if (begun < 0) {
      begun = i;
    }
    i += c < 0x10000 ? 1 : 2;
  }
  if (begun >= 0) all.add(slice(begun, text.length));
  all.merge();
  return all;
}

function wordcount(c: Context): Outcome {
  const p = c.fields();
  text = p.string("text");
  if (!p.ok) return Outcome.badParams(p.problem);
  const all = count();
  const w = new JsonWriter().beginObject().name("words").beginObject();
  for (let i = 0; i < all.words.length; i++) {
    const word = all.words[i];
    w.name(text.substring(start(word), end(word))).integer(all.counts[i]);
  }
  return Outcome.bytes(w.endObject().name("total").integer(all.total).endObject().toBytes());
}

const b = new Behavior("wordcount", wordcount);
b.description = 'counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}';
b.id = Id.Params;
b.runTimeout = MINUTE;
register(b);
