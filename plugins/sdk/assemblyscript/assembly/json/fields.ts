import { Json } from "./value";

class Problem {
  text: string = "";
}

/**
 * Reads the members of an object as what they must be. The first thing that is wrong is kept as the `problem`, to be looked at
 * once; what was wrong reads as 0, "" or false.
 *
 *     const p = c.fields();
 *     const n = p.integer("n", 0, 1000);
 *     if (!p.ok) return Outcome.badParams(p.problem);
 */
export class Fields {
  private shared: Problem = new Problem();

  constructor(
    /** What is read. */
    readonly json: Json,
    private path: string = "",
  ) {}

  /** What is wrong with the first member that is not what it must be; "" if nothing is. */
  get problem(): string {
    return this.shared.text;
  }

  /** Whether all that was read is what it must be. */
  get ok(): bool {
    return this.shared.text.length == 0;
  }

  /** Notes a problem of your own, unless there is one. */
  wrong(what: string): void {
    if (this.ok) this.shared.text = what;
  }

  /** Whether there is such a member, and it is not null. */
  has(name: string): bool {
    const v = this.json.get(name);
    return v !== null && !v.isNull;
  }

  private must(name: string, be: string): void {
    this.wrong(this.path + name + " must be " + be);
  }

  /** The member as it is; null, and a problem, if it is missing. */
  value(name: string): Json {
    const v = this.json.get(name);
    if (v !== null) return v;
    this.wrong(this.path + name + " is missing");
    return Json.null();
  }

  /** A string. */
  string(name: string): string {
    const v = this.json.get(name);
    if (v !== null && v.isString) return v.asString;
    this.must(name, "a string");
    return "";
  }

  /** `string`, or another one if the member is missing or null. */
  stringOr(name: string, other: string): string {
    return this.has(name) ? this.string(name) : other;
  }

  /** An integer from `least` to `most`. */
  integer(name: string, least: i64 = i64.MIN_VALUE, most: i64 = i64.MAX_VALUE): i64 {
    const v = this.json.get(name);
    if (v !== null && v.isInteger && v.asInteger >= least && v.asInteger <= most) return v.asInteger;
    const bounds = least == i64.MIN_VALUE && most == i64.MAX_VALUE ? "" : " from " + least.toString() + " to " + most.toString();
    this.must(name, "an integer" + bounds);
    return 0;
  }

  /** `integer`, or another one if the member is missing or null. */
  integerOr(name: string, other: i64, least: i64 = i64.MIN_VALUE, most: i64 = i64.MAX_VALUE): i64 {
    return this.has(name) ? this.integer(name, least, most) : other;
  }

  /** A number. */
  number(name: string): f64 {
    const v = this.json.get(name);
    if (v !== null && v.isNumber) return v.asNumber;
    this.must(name, "a number");
    return 0;
  }

  /** `number`, or another one if the member is missing or null. */
  numberOr(name: string, other: f64): f64 {
    return this.has(name) ? this.number(name) : other;
  }

  /** true or false. */
  bool(name: string): bool {
    const v = this.json.get(name);
    if (v !== null && v.isBool) return v.asBool;
    this.must(name, "true or false");
    return false;
  }

  /** `bool`, or another one if the member is missing or null. */
  boolOr(name: string, other: bool): bool {
    return this.has(name) ? this.bool(name) : other;
  }

  /** The elements of an array. */
  array(name: string): Json[] {
    const v = this.json.get(name);
    if (v !== null && v.isArray) return v.elements;
    this.must(name, "an array");
    return [];
  }

  /** The members of an object; what is wrong with them is a problem of this one, too. */
  object(name: string): Fields {
    const v = this.json.get(name);
    if (v === null || !v.isObject) this.must(name, "an object");
    const inner = new Fields(v === null ? Json.null() : v, this.path + name + ".");
    inner.shared = this.shared;
    return inner;
  }

  /** The name of the blob in a member `{"$blob": "sha256:…"}`, for `Context.blob`. */
  blob(name: string): string {
    const v = this.json.get(name);
    const blob = v === null ? "" : blobName(v);
    if (blob.length == 0) this.must(name, 'a blob, {"$blob":"sha256:…"}');
    return blob;
  }
}

/** The name in `{"$blob": "sha256:…"}`, for `Context.blob`; "" if the value is anything else. */
export function blobName(v: Json): string {
  const name = v.stringAt("$blob");
  return v.length == 1 && name.length == 71 && name.startsWith("sha256:") ? name : "";
}
