// The f64 nearest to a decimal number. The standard library's parseFloat is off by an ulp for some.

const MAX_DIGITS = 800; // more cannot change the nearest f64, but for whether there is anything behind

/** A JSON number of n valid characters. */
export function parseNumber(from: usize, n: i32): f64 {
  const d = new Decimal();
  let negative = false;
  let exponent = 0;
  let fraction = false;
  for (let i = 0; i < n; i++) {
    const c = load<u8>(from + i);
    if (c == 0x2d) {
      negative = true;
    } else if (c == 0x2e) {
      fraction = true;
    } else if (c == 0x65 || c == 0x45) {
      exponent = parseExponent(from + i + 1, n - i - 1);
      break;
    } else {
      d.digit(c - 0x30, fraction);
    }
  }
  d.point += exponent;
  const f = d.toFloat();
  return negative ? -f : f;
}

/** [+-]digits, clamped. */
function parseExponent(from: usize, n: i32): i32 {
  const limit = 1 << 26;
  let negative = false;
  let e = 0;
  for (let i = 0; i < n; i++) {
    const c = load<u8>(from + i);
    if (c == 0x2d) negative = true;
    else if (c != 0x2b) e = min(e * 10 + (c - 0x30), limit);
  }
  return negative ? -e : e;
}

/** 0.d₀d₁d₂… × 10^point, as in Go's strconv/decimal.go: shifting it by bits brings it to where an f64 can be read off. */
class Decimal {
  private d: StaticArray<u8> = new StaticArray<u8>(MAX_DIGITS + 24);
  private n: i32 = 0;
  private more: bool = false; // digits that are not zero were dropped
  point: i32 = 0;

  /** Appends a digit as it was written. */
  digit(c: i32, fraction: bool): void {
    if (c == 0 && this.n == 0) {
      if (fraction) this.point--;
      return;
    }
    if (!fraction) this.point++;
    if (this.n < MAX_DIGITS) this.d[this.n++] = <u8>c;
    else if (c != 0) this.more = true;
  }

  private trim(): void {
    while (this.n > 0 && this.d[this.n - 1] == 0) this.n--;
    if (this.n == 0) this.point = 0;
  }

  /** × 2^k, k ≤ 28. */
  private left(k: i32): void {
    let carry: u64 = 0;
    for (let i = this.n - 1; i >= 0; i--) {
      const v = (<u64>this.d[i] << k) + carry;
      carry = v / 10;
      this.d[i] = <u8>(v - carry * 10);
    }
    let extra = 0;
    for (let c = carry; c > 0; c /= 10) extra++;
    if (extra > 0) {
      memory.copy(changetype<usize>(this.d) + extra, changetype<usize>(this.d), this.n);
      for (let i = extra - 1; i >= 0; i--) {
        this.d[i] = <u8>(carry % 10);
        carry /= 10;
      }
      this.n += extra;
      this.point += extra;
      while (this.n > MAX_DIGITS) {
        if (this.d[--this.n] != 0) this.more = true;
      }
    }
    this.trim();
  }

  /** ÷ 2^k, k ≤ 28. */
  private right(k: i32): void {
    let read = 0;
    let write = 0;
    let rest: u64 = 0;
    while (rest >> k == 0) {
      if (read >= this.n) {
        if (rest == 0) {
          this.n = 0;
          this.trim();
          return;
        }
        while (rest >> k == 0) {
          rest *= 10;
          read++;
        }
        break;
      }
      rest = rest * 10 + this.d[read++];
    }
    this.point -= read - 1;
    const mask: u64 = (1 << k) - 1;
    for (; read < this.n; read++) {
      const c = this.d[read];
      this.d[write++] = <u8>(rest >> k);
      rest = (rest & mask) * 10 + c;
    }
    while (rest > 0) {
      const digit = <u8>(rest >> k);
      rest = (rest & mask) * 10;
      if (write < MAX_DIGITS) this.d[write++] = digit;
      else if (digit > 0) this.more = true;
    }
    this.n = write;
    this.trim();
  }

  private shift(k: i32): void {
    const most = 28;
    for (; k > most; k -= most) this.left(most);
    for (; k < -most; k += most) this.right(most);
    if (k > 0) this.left(k);
    else if (k < 0) this.right(-k);
  }

  /** The nearest integer, to even if there are two. */
  private rounded(): u64 {
    let n: u64 = 0;
    let i = 0;
    for (; i < this.point && i < this.n; i++) n = n * 10 + this.d[i];
    for (; i < this.point; i++) n *= 10;
    if (this.point < 0 || this.point >= this.n) return n;
    const half = this.d[this.point] == 5 && this.point + 1 == this.n && !this.more;
    const up = half ? (n & 1) == 1 : this.d[this.point] >= 5;
    return up ? n + 1 : n;
  }

  toFloat(): f64 {
    this.trim();
    if (this.n == 0 || this.point < -330) return 0;
    if (this.point > 310) return Infinity;
    let exponent = 0; // the value is now this × 2^exponent
    while (this.point > 0) {
      const k = min(28, 1 + 3 * this.point);
      this.shift(-k);
      exponent += k;
    }
    while (this.point < 0 || (this.point == 0 && this.d[0] < 5)) {
      const k = this.point == 0 ? 1 : min(28, -3 * this.point);
      this.shift(k);
      exponent -= k;
    }
    // It is in [1/2, 1) now.
    exponent--; // and twice it in [1, 2)
    if (exponent < -1022) {
      const k = -1022 - exponent;
      this.shift(-k);
      exponent += k;
    }
    if (exponent > 1023) return Infinity;
    this.shift(53);
    let mantissa = this.rounded();
    if (mantissa == 1 << 53) {
      mantissa >>= 1;
      if (++exponent > 1023) return Infinity;
    }
    if ((mantissa & (1 << 52)) == 0) exponent = -1023; // denormal
    return reinterpret<f64>((mantissa & ((1 << 52) - 1)) | (<u64>(exponent + 1023) << 52));
  }
}
