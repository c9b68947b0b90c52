/** Bytes that grow at their end. */
export class Bytes {
  private buffer: Uint8Array = new Uint8Array(64);
  /** How many there are. */
  length: i32 = 0;

  /** Makes room for n more and returns where they go. */
  private room(n: i32): usize {
    const needed = this.length + n;
    if (needed > this.buffer.length) {
      const larger = new Uint8Array(max(needed, this.buffer.length * 2));
      memory.copy(larger.dataStart, this.buffer.dataStart, this.length);
      this.buffer = larger;
    }
    const at = this.buffer.dataStart + this.length;
    this.length = needed;
    return at;
  }

  /** Appends one byte. */
  byte(b: u8): Bytes {
    store<u8>(this.room(1), b);
    return this;
  }

  /** Appends bytes. */
  bytes(b: Uint8Array): Bytes {
    memory.copy(this.room(b.length), b.dataStart, b.length);
    return this;
  }

  /** Appends text as UTF-8; a surrogate without its other half becomes U+FFFD. */
  text(s: string): Bytes {
    const n = String.UTF8.byteLength(s);
    String.UTF8.encodeUnsafe(changetype<usize>(s), s.length, this.room(n), false, String.UTF8.ErrorMode.REPLACE);
    return this;
  }

  /** Appends a number, the lowest byte first. */
  u32(n: u32): Bytes {
    store<u32>(this.room(4), n);
    return this;
  }

  /** Appends a number, the lowest byte first. */
  u64(n: u64): Bytes {
    store<u64>(this.room(8), n);
    return this;
  }

  /** Appends a Unicode code point as UTF-8. */
  codePoint(c: u32): Bytes {
    if (c < 0x80) return this.byte(<u8>c);
    if (c < 0x800) return this.byte(<u8>(0xc0 | (c >> 6))).byte(<u8>(0x80 | (c & 63)));
    if (c < 0x10000) this.byte(<u8>(0xe0 | (c >> 12)));
    else this.byte(<u8>(0xf0 | (c >> 18))).byte(<u8>(0x80 | ((c >> 12) & 63)));
    return this.byte(<u8>(0x80 | ((c >> 6) & 63))).byte(<u8>(0x80 | (c & 63)));
  }

  /** The last byte; 0 if there is none. */
  last(): u8 {
    return this.length == 0 ? 0 : this.buffer[this.length - 1];
  }

  /** The bytes that were appended. They are valid until more are appended. */
  take(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }
}

/** Text as UTF-8; a surrogate without its other half becomes U+FFFD. */
export function encode(s: string): Uint8Array {
  const out = new Uint8Array(String.UTF8.byteLength(s));
  String.UTF8.encodeUnsafe(changetype<usize>(s), s.length, out.dataStart, false, String.UTF8.ErrorMode.REPLACE);
  return out;
}

/** UTF-8 as text. Each byte that belongs to no character becomes U+FFFD, as in Go; the standard library reads over the end. */
export function decode(b: Uint8Array): string {
  return decodeAt(b.dataStart, b.length);
}

/** `decode` of n bytes in memory. */
export function decodeAt(from: usize, n: i32): string {
  let units = 0;
  for (let at = 0; at < n; ) {
    const c = codePointAt(from + at, n - at);
    at += size(c);
    units += codePointOf(c) < 0x10000 ? 1 : 2;
  }
  const out = changetype<string>(__new(<usize>units << 1, idof<string>()));
  let to = changetype<usize>(out);
  for (let at = 0; at < n; ) {
    const c = codePointAt(from + at, n - at);
    at += size(c);
    const code = codePointOf(c);
    if (code < 0x10000) {
      store<u16>(to, <u16>code);
      to += 2;
    } else {
      store<u16>(to, <u16>(0xd800 + ((code - 0x10000) >> 10)));
      store<u16>(to, <u16>(0xdc00 + (code & 0x3ff)), 2);
      to += 4;
    }
  }
  return out;
}

/** The code point at the start of n > 0 bytes, and the bytes that it takes: see `codePointOf` and `size`. */
export function codePointAt(from: usize, n: i32): u32 {
  const first = <u32>load<u8>(from);
  if (first < 0x80) return pack(first, 1);
  let more = 0;
  let code: u32 = 0;
  let least: u32 = 0;
  if ((first & 0xe0) == 0xc0) {
    more = 1;
    code = first & 0x1f;
    least = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    more = 2;
    code = first & 0x0f;
    least = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    more = 3;
    code = first & 0x07;
    least = 0x10000;
  }
  if (more == 0 || n <= more) return pack(0xfffd, 1);
  for (let i = 1; i <= more; i++) {
    const c = <u32>load<u8>(from + i);
    if ((c & 0xc0) != 0x80) return pack(0xfffd, 1);
    code = (code << 6) | (c & 63);
  }
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return pack(0xfffd, 1);
  return pack(code, more + 1);
}

// @ts-ignore: decorator
@inline
function pack(code: u32, size: u32): u32 {
  return (code << 3) | size;
}

/** Of what `codePointAt` returned. */
// @ts-ignore: decorator
@inline
export function codePointOf(packed: u32): u32 {
  return packed >> 3;
}

/** Of what `codePointAt` returned. */
// @ts-ignore: decorator
@inline
export function size(packed: u32): i32 {
  return packed & 7;
}
