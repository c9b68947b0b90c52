import { decode, encode } from "../bytes";
import { JsonParser } from "./parse";
import { JsonWriter } from "./write";

/** What a `Json` is. */
export enum JsonKind {
  Null,
  Bool,
  /** A number written as an integer that fits in an i64, kept exactly. */
  Integer,
  /** Any other number: the nearest f64. */
  Float,
  String,
  Array,
  Object,
}

/** What `Json.parse` read, or why it could not. */
export class JsonParsed {
  constructor(
    /** The value; null if the text is wrong. */
    public value: Json,
    /** What is wrong, such as "JSON: unexpected end at byte 5"; "" if nothing is. */
    public error: string,
    /** Where, in bytes. */
    public offset: i32,
  ) {}

  /** Whether the text is JSON. */
  get ok(): bool {
    return this.error.length == 0;
  }
}

const NO_ELEMENTS: Json[] = []; // of what is neither array nor object; nothing is ever appended
const NO_NAMES: string[] = [];

/**
 * A JSON value (RFC 8259). Of repeated members of an object the last one counts, and an escape that is half of a surrogate pair reads
 * as U+FFFD, as in Go and for the host.
 */
export class Json {
  private truth: bool = false;
  private whole: i64 = 0;
  private float: f64 = 0;
  private text: string = "";
  private elems: Json[] = NO_ELEMENTS;
  private names: string[] = NO_NAMES;

  private constructor(readonly kind: JsonKind) {}

  /** Reads one JSON text; anything but space after it is an error. At most `JsonParser.MAX_DEPTH` levels deep. */
  static parse(text: Uint8Array): JsonParsed {
    return new JsonParser(text).parse();
  }

  /** `parse` of a string. */
  static parseText(text: string): JsonParsed {
    return Json.parse(encode(text));
  }

  /** null. */
  static null(): Json {
    return new Json(JsonKind.Null);
  }

  /** true or false. */
  static bool(b: bool): Json {
    const v = new Json(JsonKind.Bool);
    v.truth = b;
    return v;
  }

  /** An integer. */
  static integer(n: i64): Json {
    const v = new Json(JsonKind.Integer);
    v.whole = n;
    return v;
  }

  /** A number; not finite ones are written as null. */
  static number(n: f64): Json {
    const v = new Json(JsonKind.Float);
    v.float = n;
    return v;
  }

  /** A string. */
  static string(s: string): Json {
    const v = new Json(JsonKind.String);
    v.text = s;
    return v;
  }

  /** An array, to `push` to. */
  static array(): Json {
    const v = new Json(JsonKind.Array);
    v.elems = [];
    return v;
  }

  /** An object, to `set` members of. */
  static object(): Json {
    const v = new Json(JsonKind.Object);
    v.elems = [];
    v.names = [];
    return v;
  }

  /** Whether it is null. */
  get isNull(): bool {
    return this.kind == JsonKind.Null;
  }

  /** Whether it is true or false. */
  get isBool(): bool {
    return this.kind == JsonKind.Bool;
  }

  /** Whether it is a number of either kind. */
  get isNumber(): bool {
    return this.kind == JsonKind.Integer || this.kind == JsonKind.Float;
  }

  /** Whether `asInteger` is exact: 5, and also 5.0 and 5e3 up to 2^53. */
  get isInteger(): bool {
    return this.kind == JsonKind.Integer || (this.kind == JsonKind.Float && abs(this.float) <= 9007199254740992.0 && trunc(this.float) == this.float);
  }

  /** Whether it is a string. */
  get isString(): bool {
    return this.kind == JsonKind.String;
  }

  /** Whether it is an array. */
  get isArray(): bool {
    return this.kind == JsonKind.Array;
  }

  /** Whether it is an object. */
  get isObject(): bool {
    return this.kind == JsonKind.Object;
  }

  /** The boolean; false if it is none. */
  get asBool(): bool {
    return this.truth;
  }

  /** The integer; 0 if it is none. */
  get asInteger(): i64 {
    if (this.kind == JsonKind.Integer) return this.whole;
    return this.isInteger ? <i64>this.float : 0;
  }

  /** The number; 0 if it is none. */
  get asNumber(): f64 {
    return this.kind == JsonKind.Integer ? <f64>this.whole : this.float;
  }

  /** The string; "" if it is none. */
  get asString(): string {
    return this.text;
  }

  /** How many elements or members there are; 0 if it is neither array nor object. */
  get length(): i32 {
    return this.elems.length;
  }

  /** The elements of an array, or the values of an object in the order of `keys`. */
  get elements(): Json[] {
    return this.elems;
  }

  /** The names of an object's members in the order of the text; of one that is there twice the last counts. */
  get keys(): string[] {
    return this.names;
  }

  /** The member of an object; null if it is no object or has none of the name. */
  get(name: string): Json | null {
    const at = this.names.lastIndexOf(name);
    return at < 0 ? null : this.elems[at];
  }

  /** The string that is the member of that name; "" if it is none. */
  stringAt(name: string): string {
    const v = this.get(name);
    return v === null ? "" : v.text;
  }

  /** The integer that is the member of that name; 0 if it is none. */
  integerAt(name: string): i64 {
    const v = this.get(name);
    return v === null ? 0 : v.asInteger;
  }

  /** The boolean that is the member of that name; false if it is none. */
  boolAt(name: string): bool {
    const v = this.get(name);
    return v === null ? false : v.truth;
  }

  /** Sets a member of an object. It looks at all that are there: `JsonWriter` is for thousands of them. */
  set(name: string, v: Json): Json {
    assert(this.kind == JsonKind.Object, "set of no object");
    const at = this.names.lastIndexOf(name);
    if (at < 0) return this.add(name, v);
    this.elems[at] = v;
    return this;
  }

  /**
   * `set` without a look at what is there. A parser has no other: an index by name would be slow for names that somebody chose for
   * that.
   */
  add(name: string, v: Json): Json {
    this.names.push(name);
    this.elems.push(v);
    return this;
  }

  /** Appends to an array. */
  push(v: Json): Json {
    assert(this.kind == JsonKind.Array, "push to no array");
    this.elems.push(v);
    return this;
  }

  /** Writes it. */
  write(w: JsonWriter): void {
    switch (this.kind) {
      case JsonKind.Bool:
        w.bool(this.truth);
        break;
      case JsonKind.Integer:
        w.integer(this.whole);
        break;
      case JsonKind.Float:
        w.number(this.float);
        break;
      case JsonKind.String:
        w.string(this.text);
        break;
      case JsonKind.Array:
        w.beginArray();
        for (let i = 0; i < this.elems.length; i++) this.elems[i].write(w);
        w.endArray();
        break;
      case JsonKind.Object:
        w.beginObject();
        for (let i = 0; i < this.elems.length; i++) this.elems[i].write(w.name(this.names[i]));
        w.endObject();
        break;
      default:
        w.null();
    }
  }

  /** JSON text without space, as UTF-8. */
  toBytes(): Uint8Array {
    const w = new JsonWriter();
    this.write(w);
    return w.toBytes();
  }

  /** JSON text without space. */
  toString(): string {
    return decode(this.toBytes());
  }
}
