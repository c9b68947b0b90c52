import * as abi from "./abi";
import { Bytes, codePointAt, codePointOf, encode, size } from "./bytes";
import { call } from "./host";

const MAX_NAME = 64;
const MAX_TEXT = 256;
const MAX_ATTRIBUTES = 8;

/**
 * A span of the plugin's own, which stands in the trace of its attempt inside the span that was begun last and has not ended. It is cheap if
 * nobody wants the trace. A host that knows no spans, or has too many open, shows none.
 *
 *     const span = Span.begin("parse", ["file", name]);
 *     …
 *     span.end();
 */
export class Span {
  private constructor(private open: bool) {}

  /**
   * Begins a span. Attributes are keys and values in turn; a key is of [a-z0-9_.-]. Text that is too long is cut, what cannot be printed becomes
   * a space, and of attributes the first eight count.
   */
  static begin(name: string, attributes: string[] = []): Span {
    const payload = new Bytes();
    append(payload, name, MAX_NAME);
    if (payload.length == 0) append(payload, "span", MAX_NAME);
    for (let i = 0; i + 1 < min(attributes.length, 2 * MAX_ATTRIBUTES); i += 2) {
      payload.byte(0x0a).text(attributes[i]).byte(0x3d);
      append(payload, attributes[i + 1], MAX_TEXT);
    }
    return new Span(call(abi.op.SPAN_BEGIN, payload.take()) >= 0);
  }

  /** Ends the span. Spans end in the opposite order of their beginning. A second end does nothing. */
  end(): void {
    this.over("");
  }

  /** Ends the span and says why what it is about failed. */
  fail(why: string): void {
    this.over(why.length == 0 ? "failed" : why);
  }

  private over(why: string): void {
    if (!this.open) return;
    this.open = false;
    const text = new Bytes();
    append(text, why, MAX_TEXT);
    call(abi.op.SPAN_END, text.take()); // a span says nothing of the outcome
  }
}

/** Appends text that the host takes, of at most so many bytes. */
function append(to: Bytes, text: string, most: i32): void {
  const bytes = encode(text);
  const begun = to.length;
  for (let at = 0; at < bytes.length; ) {
    const packed = codePointAt(bytes.dataStart + at, bytes.length - at);
    let c = codePointOf(packed);
    let n = size(packed);
    at += n;
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffd) {
      c = 0x20;
      n = 1;
    }
    if (to.length - begun + n > most) return;
    to.codePoint(c);
  }
}
