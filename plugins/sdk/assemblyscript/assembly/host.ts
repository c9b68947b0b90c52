import * as abi from "./abi";
import { encode } from "./bytes";

/** All of an input channel; null if it has nothing to say. */
export function readAll(ch: i32): Uint8Array | null {
  const n = abi.len(ch);
  if (n < 0) return null;
  const out = new Uint8Array(n);
  for (let off = 0; off < n; ) {
    const got = abi.read(ch, out.dataStart + off, off, n - off);
    if (got <= 0) throw new Error("the host announced bytes that it does not give");
    off += got;
  }
  return out;
}

/** Appends to an output channel: the number of bytes, or a status. */
export function write(ch: i32, b: Uint8Array): i32 {
  return abi.write(ch, b.dataStart, b.length);
}

/** `write` of text. */
export function writeText(ch: i32, s: string): i32 {
  return write(ch, encode(s));
}

/** A request: the length of the response, or a status. */
export function call(op: i32, payload: Uint8Array): i32 {
  return abi.call(op, payload.dataStart, payload.length);
}
