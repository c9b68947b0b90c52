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

/** All words of the text, in the order that they have there. */
function split(): u64[] {
  const words: u64[] = [];
  let begun = -1;
  for (let i = 0; i < text.length; ) {
    const c = text.codePointAt(i);
    if (!isLetterOrDigit(c)) {
      if (begun >= 0) words.push(slice(begun, i));
      begun = -1;
    } else if (begun < 0) {
      begun = i;
    }
    i += c < 0x10000 ? 1 : 2;
  }
  if (begun >= 0) words.push(slice(begun, text.length));
  return words;
}

function wordcount(c: Context): Outcome {
  const p = c.fields();
  text = p.string("text");
  if (!p.ok) return Outcome.badParams(p.problem);
  const words = split().sort(compare); // not a Map: whoever chooses the words could make it slow
  const w = new JsonWriter().beginObject().name("words").beginObject();
  for (let i = 0; i < words.length; ) {
    const first = i;
    while (i < words.length && compare(words[i], words[first]) == 0) i++;
    w.name(text.substring(start(words[first]), end(words[first]))).integer(i - first);
  }
  return Outcome.bytes(w.endObject().name("total").integer(words.length).endObject().toBytes());
}

const b = new Behavior("wordcount", wordcount);
b.description = 'counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}';
b.id = Id.Params;
b.runTimeout = MINUTE;
register(b);
