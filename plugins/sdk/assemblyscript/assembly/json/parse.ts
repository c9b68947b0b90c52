import { Bytes, codePointAt, codePointOf, decode, decodeAt, size } from "../bytes";
import { parseNumber } from "./number";
import { Json, JsonParsed } from "./value";

/** A parser of one text. */
export class JsonParser {
  /** How deep arrays and objects may nest. */
  static readonly MAX_DEPTH: i32 = 512;

  private at: i32 = 0;
  private error: string = "";

  constructor(private text: Uint8Array) {}

  parse(): JsonParsed {
    this.utf8();
    const v = this.failed ? Json.null() : this.value(0);
    if (this.error.length == 0 && this.peek() >= 0) this.fail("text after the value");
    if (this.error.length == 0) return new JsonParsed(v, "", this.at);
    return new JsonParsed(Json.null(), "JSON: " + this.error + " at byte " + this.at.toString(), this.at);
  }

  /** Looks at what is no character before anything else, so that strings need not. */
  private utf8(): void {
    const n = this.text.length;
    while (this.at < n) {
      const c = codePointAt(this.text.dataStart + this.at, n - this.at);
      if (codePointOf(c) == 0xfffd && size(c) == 1) {
        this.fail("text that is not UTF-8");
        return;
      }
      this.at += size(c);
    }
    this.at = 0;
  }

  private fail(what: string): Json {
    if (this.error.length == 0) this.error = what;
    return Json.null();
  }

  private get failed(): bool {
    return this.error.length > 0;
  }

  /** The byte here, -1 at the end. */
  private here(): i32 {
    return this.at < this.text.length ? <i32>unchecked(this.text[this.at]) : -1;
  }

  /** The byte here, after space. */
  private peek(): i32 {
    let c = this.here();
    while (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09) {
      this.at++;
      c = this.here();
    }
    return c;
  }

  private unexpected(): Json {
    return this.fail(this.at < this.text.length ? "unexpected character" : "unexpected end");
  }

  private value(depth: i32): Json {
    const c = this.peek();
    if (c == 0x7b || c == 0x5b) {
      if (depth >= JsonParser.MAX_DEPTH) return this.fail("nested deeper than " + JsonParser.MAX_DEPTH.toString());
      this.at++;
      return c == 0x7b ? this.object(depth) : this.array(depth);
    }
    if (c == 0x22) return Json.string(this.string());
    if (c == 0x2d || (c >= 0x30 && c <= 0x39)) return this.number();
    if (c == 0x74) return this.word("true") ? Json.bool(true) : Json.null();
    if (c == 0x66) return this.word("false") ? Json.bool(false) : Json.null();
    if (c == 0x6e) {
      this.word("null");
      return Json.null();
    }
    return this.unexpected();
  }

  private word(w: string): bool {
    for (let i = 0; i < w.length; i++) {
      if (this.here() != w.charCodeAt(i)) {
        this.unexpected();
        return false;
      }
      this.at++;
    }
    return true;
  }

  private object(depth: i32): Json {
    const v = Json.object();
    if (this.peek() == 0x7d) {
      this.at++;
      return v;
    }
    while (true) {
      if (this.peek() != 0x22) return this.fail("a member's name is missing");
      const name = this.string();
      if (this.failed) return v;
      if (this.peek() != 0x3a) return this.fail("':' is missing");
      this.at++;
      const member = this.value(depth + 1);
      if (this.failed) return v;
      v.add(name, member);
      const c = this.peek();
      if (c == 0x7d) {
        this.at++;
        return v;
      }
      if (c != 0x2c) return this.fail("',' or '}' is missing");
      this.at++;
    }
  }

  private array(depth: i32): Json {
    const v = Json.array();
    if (this.peek() == 0x5d) {
      this.at++;
      return v;
    }
    while (true) {
      const element = this.value(depth + 1);
      if (this.failed) return v;
      v.push(element);
      const c = this.peek();
      if (c == 0x5d) {
        this.at++;
        return v;
      }
      if (c != 0x2c) return this.fail("',' or ']' is missing");
      this.at++;
    }
  }

  /** The string whose opening quote is here. */
  private string(): string {
    const start = ++this.at;
    while (true) {
      const c = this.here();
      if (c == 0x22) return decodeAt(this.text.dataStart + start, this.at++ - start);
      if (c == 0x5c) break;
      if (c < 0x20) {
        this.fail(c < 0 ? "unexpected end of a string" : "control character in a string");
        return "";
      }
      this.at++;
    }
    const out = new Bytes().bytes(this.text.subarray(start, this.at));
    let plain = this.at; // what is from here on was not copied yet
    while (true) {
      const c = this.here();
      if (c == 0x22 || c == 0x5c) {
        out.bytes(this.text.subarray(plain, this.at++));
        if (c == 0x22) return decode(out.take());
        this.escape(out);
        if (this.failed) return "";
        plain = this.at;
      } else if (c < 0x20) {
        this.fail(c < 0 ? "unexpected end of a string" : "control character in a string");
        return "";
      } else {
        this.at++;
      }
    }
  }

  /** What is behind a backslash. */
  private escape(out: Bytes): void {
    const c = this.here();
    if (c == 0x75) {
      const code = this.unit();
      if (code < 0) return;
      if (code >= 0xd800 && code < 0xdc00 && this.here() == 0x5c && this.at + 1 < this.text.length && this.text[this.at + 1] == 0x75) {
        const back = this.at++;
        const low = this.unit();
        if (low < 0) return;
        if (low >= 0xdc00 && low < 0xe000) {
          out.codePoint(0x10000 + (((code - 0xd800) << 10) | (low - 0xdc00)));
          return;
        }
        this.at = back;
      }
      out.codePoint(code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
      return;
    }
    let b: u8 = 0;
    if (c == 0x22 || c == 0x5c || c == 0x2f) b = <u8>c;
    else if (c == 0x62) b = 0x08;
    else if (c == 0x66) b = 0x0c;
    else if (c == 0x6e) b = 0x0a;
    else if (c == 0x72) b = 0x0d;
    else if (c == 0x74) b = 0x09;
    if (b == 0) {
      this.fail("unknown escape in a string");
      return;
    }
    this.at++;
    out.byte(b);
  }

  /** The four digits behind the u that is here; -1 if they are none. */
  private unit(): i32 {
    let n = 0;
    for (let i = 0; i < 4; i++) {
      this.at++;
      const c = this.here();
      const letter = c | 0x20;
      if (c >= 0x30 && c <= 0x39) {
        n = n * 16 + c - 0x30;
      } else if (c > 0 && letter >= 0x61 && letter <= 0x66) {
        n = n * 16 + letter - 0x57;
      } else {
        this.fail("four hexadecimal digits are missing in a string");
        return -1;
      }
    }
    this.at++;
    return n;
  }

  /** One digit and those behind it. */
  private digits(): bool {
    const start = this.at;
    for (let c = this.here(); c >= 0x30 && c <= 0x39; c = this.here()) this.at++;
    if (this.at > start) return true;
    this.fail("a digit is missing in a number");
    return false;
  }

  private number(): Json {
    const start = this.at;
    let whole = true;
    if (this.here() == 0x2d) this.at++;
    if (this.here() == 0x30) this.at++;
    else if (!this.digits()) return Json.null();
    if (this.here() == 0x2e) {
      whole = false;
      this.at++;
      if (!this.digits()) return Json.null();
    }
    if ((this.here() | 0x20) == 0x65) {
      whole = false;
      this.at++;
      const sign = this.here();
      if (sign == 0x2b || sign == 0x2d) this.at++;
      if (!this.digits()) return Json.null();
    }
    const from = this.text.dataStart + start;
    const n = this.at - start;
    if (whole && fits(from, n)) return Json.integer(integer(from, n));
    const f = parseNumber(from, n);
    if (isFinite(f)) return Json.number(f);
    this.at = start;
    return this.fail("a number is too large");
  }
}

/** Whether an integer of n characters fits in an i64; "-0" is kept as a float, which has one. */
function fits(from: usize, n: i32): bool {
  const negative = load<u8>(from) == 0x2d;
  const digits = negative ? n - 1 : n;
  if (negative && load<u8>(from + 1) == 0x30) return false;
  if (digits != 19) return digits < 19;
  let u: u64 = 0; // 19 digits fit
  for (let i = n - digits; i < n; i++) u = u * 10 + (load<u8>(from + i) - 0x30);
  return u <= (negative ? 1 << 63 : <u64>i64.MAX_VALUE);
}

function integer(from: usize, n: i32): i64 {
  const negative = load<u8>(from) == 0x2d;
  let u: u64 = 0;
  for (let i = negative ? 1 : 0; i < n; i++) u = u * 10 + (load<u8>(from + i) - 0x30);
  return negative ? -(<i64>u) : <i64>u;
}

/** A member of an object, or an element of an array, as it is written. */
export class RawMember {
  constructor(
    /** "" in an array. */
    public name: string,
    public raw: Uint8Array,
  ) {}
}

/**
 * Takes apart the object or array that valid JSON is, one level deep: what is in it stays as it is written, however deep it nests.
 * Null if the text is something else.
 */
export function rawMembers(text: Uint8Array): RawMember[] | null {
  const s = new Splitter(text);
  return s.split();
}

class Splitter {
  private at: i32 = 0;

  constructor(private text: Uint8Array) {}

  private here(): i32 {
    return this.at < this.text.length ? <i32>unchecked(this.text[this.at]) : -1;
  }

  private space(): i32 {
    let c = this.here();
    while (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09) {
      this.at++;
      c = this.here();
    }
    return c;
  }

  split(): RawMember[] | null {
    const open = this.space();
    if (open != 0x7b && open != 0x5b) return null;
    const close = open + 2;
    const out: RawMember[] = [];
    this.at++;
    if (this.space() == close) return out;
    while (true) {
      let name = "";
      if (open == 0x7b) {
        if (this.space() != 0x22) return null;
        const parsed = Json.parse(this.skip());
        if (!parsed.ok || this.space() != 0x3a) return null;
        name = parsed.value.asString;
        this.at++;
      }
      this.space();
      const raw = this.skip();
      if (raw.length == 0) return null;
      out.push(new RawMember(name, raw));
      const c = this.space();
      if (c == close) return out;
      if (c != 0x2c) return null;
      this.at++;
    }
  }

  /** The value that begins here. */
  private skip(): Uint8Array {
    const start = this.at;
    let depth = 0;
    for (; this.at < this.text.length; this.at++) {
      const c = this.here();
      if (c == 0x22) {
        for (this.at++; this.at < this.text.length && this.here() != 0x22; this.at++) {
          if (this.here() == 0x5c) this.at++;
        }
        if (depth == 0) {
          this.at = min(this.at + 1, this.text.length);
          break;
        }
      } else if (c == 0x7b || c == 0x5b) {
        depth++;
      } else if (c == 0x7d || c == 0x5d) {
        if (depth == 0) break;
        if (--depth == 0) {
          this.at++;
          break;
        }
      } else if (depth == 0 && (c == 0x2c || c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09)) {
        break;
      }
    }
    return this.text.subarray(start, this.at);
  }
}
