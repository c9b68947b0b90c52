import { Bytes, decode } from "../bytes";

/**
 * Writes JSON text, and the commas in it.
 *
 *     new JsonWriter().beginObject().name("sum").integer(14).endObject().toBytes()
 */
export class JsonWriter {
  private out: Bytes = new Bytes();

  /** A comma, where a value or a name follows another value. */
  private next(): Bytes {
    const last = this.out.last();
    if (this.out.length > 0 && last != 0x7b && last != 0x5b && last != 0x3a) this.out.byte(0x2c);
    return this.out;
  }

  /** Begins an object: members and `endObject` come next. */
  beginObject(): JsonWriter {
    this.next().byte(0x7b);
    return this;
  }

  /** Ends the object that was begun last. */
  endObject(): JsonWriter {
    this.out.byte(0x7d);
    return this;
  }

  /** Begins an array: elements and `endArray` come next. */
  beginArray(): JsonWriter {
    this.next().byte(0x5b);
    return this;
  }

  /** Ends the array that was begun last. */
  endArray(): JsonWriter {
    this.out.byte(0x5d);
    return this;
  }

  /** The name of a member, whose value comes next. */
  name(name: string): JsonWriter {
    this.string(name);
    this.out.byte(0x3a);
    return this;
  }

  /** Writes a string; a surrogate without its other half becomes U+FFFD. */
  string(s: string): JsonWriter {
    const out = this.next();
    out.byte(0x22);
    let plain = 0; // from here on nothing needs an escape
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
      if (plain < i) out.text(s.substring(plain, i));
      plain = i + 1;
      out.byte(0x5c);
      if (c == 0x0a) out.byte(0x6e);
      else if (c == 0x09) out.byte(0x74);
      else if (c == 0x0d) out.byte(0x72);
      else if (c >= 0x20) out.byte(<u8>c);
      else out.text("u00").byte(hex(c >> 4)).byte(hex(c & 15));
    }
    if (plain < s.length) out.text(plain == 0 ? s : s.substring(plain));
    out.byte(0x22);
    return this;
  }

  /** Writes an integer. */
  integer(n: i64): JsonWriter {
    this.next().text(n.toString());
    return this;
  }

  /** Writes a number, which reads back as the same f64. JSON has no infinities and no NaN: null. */
  number(n: f64): JsonWriter {
    if (!isFinite(n)) return this.null();
    this.next().text(n == 0 && 1 / n < 0 ? "-0.0" : n.toString());
    return this;
  }

  /** Writes true or false. */
  bool(b: bool): JsonWriter {
    this.next().text(b ? "true" : "false");
    return this;
  }

  /** Writes null. */
  null(): JsonWriter {
    this.next().text("null");
    return this;
  }

  /** Writes text that is JSON already. */
  raw(text: Uint8Array): JsonWriter {
    this.next().bytes(text);
    return this;
  }

  /** The text, as UTF-8. */
  toBytes(): Uint8Array {
    return this.out.take();
  }

  /** The text. */
  toString(): string {
    return decode(this.out.take());
  }
}

function hex(n: i32): u8 {
  return <u8>(n < 10 ? 0x30 + n : 0x57 + n);
}
