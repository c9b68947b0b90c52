import * as abi from "./abi";
import { encode } from "./bytes";
import { call, readAll } from "./host";
import { RawMember, rawMembers } from "./json/parse";
import { Json } from "./json/value";
import { Status, statusOf } from "./status";

/** The outcome of one partition of an operation. */
export class Partition {
  index: i64 = 0;
  name: string = "";
  /** Of its task: SUCCESS or FAILURE, when a completion runs. */
  status: string = "";
  /** Of a success: JSON unless `binary`; null if it is a blob, or none. */
  result: Uint8Array | null = null;
  /** Whether `result` is no JSON. */
  binary: bool = false;
  /** If the result is a blob, its name, for `Context.blob`; "": it is none. */
  blob: string = "";
  /** Of a failure. */
  error: PartitionError | null = null;
}

/** Why a partition failed. */
export class PartitionError {
  constructor(
    public code: string,
    public message: string,
    public retryable: bool,
  ) {}
}

/**
 * Goes through the partitions of the operation that the task is part of, in order and page by page. So a completion reads outcomes
 * and results without all of them in memory.
 *
 *     const all = c.partitions();
 *     for (let p = all.next(); p !== null; p = all.next()) use(p);
 *     if (all.status != Status.Ok) return Outcome.refused(all.status);
 */
export class Partitions {
  /** Why `next` ended: Ok at the end, Denied (the task is part of no operation), Unavailable (nobody answers now), LeaseLost. */
  status: Status = Status.Ok;

  private page: RawMember[] = [];
  private at: i32 = 0;

  constructor(private from: i64) {}

  /** The next partition. null at the end, and if the call fails, as `status` says. */
  next(): Partition | null {
    while (this.at == this.page.length) {
      if (this.from < 0 || this.status != Status.Ok) return null;
      this.status = this.load();
    }
    const p = parsePartition(this.page[this.at++].raw);
    if (p === null) this.status = Status.Invalid;
    return p;
  }

  /** Asks for a page. */
  private load(): Status {
    this.page = [];
    this.at = 0;
    const pageSize = 1000; // the most that a host gives
    const n = call(abi.op.PARTITIONS, encode('{"from":' + this.from.toString() + ',"limit":' + pageSize.toString() + "}"));
    if (n < 0) return statusOf(n);
    const text = readAll(abi.channel.RESPONSE);
    if (text === null) return Status.Invalid;
    const members = rawMembers(text);
    if (members === null) return Status.Invalid;
    let next: i64 = -1;
    for (let i = 0; i < members.length; i++) {
      const m = members[i];
      if (m.name == "next") {
        next = Json.parse(m.raw).value.asInteger;
      } else if (m.name == "partitions") {
        const page = rawMembers(m.raw);
        if (page === null) return Status.Invalid;
        this.page = page;
      }
    }
    if (next >= 0 && next <= this.from) return Status.Invalid; // it would never end
    this.from = next;
    return Status.Ok;
  }
}

/** One element of a page. The result stays as it is written, however deep it nests. */
function parsePartition(text: Uint8Array): Partition | null {
  const members = rawMembers(text);
  if (members === null) return null;
  const p = new Partition();
  for (let i = 0; i < members.length; i++) {
    const m = members[i];
    if (m.name == "result") {
      p.result = m.raw;
      continue;
    }
    const v = Json.parse(m.raw).value;
    if (m.name == "index") p.index = v.asInteger;
    else if (m.name == "partition") p.name = v.asString;
    else if (m.name == "status") p.status = v.asString;
    else if (m.name == "blob") p.blob = v.asString;
    else if (m.name == "error") p.error = new PartitionError(v.stringAt("code"), v.stringAt("message"), v.boolAt("retryable"));
    else if (m.name == "result_base64") {
      p.result = decodeBase64(v.asString);
      p.binary = true;
    }
  }
  return p;
}

/** Decodes what the host has encoded. */
function decodeBase64(s: string): Uint8Array {
  let n = s.length;
  while (n > 0 && s.charCodeAt(n - 1) == 0x3d) n--;
  const out = new Uint8Array(<i32>((<i64>n * 3) / 4));
  let bits: u32 = 0;
  let have = 0;
  let at = 0;
  for (let i = 0; i < n; i++) {
    bits = (bits << 6) | sextet(s.charCodeAt(i));
    have += 6;
    if (have >= 8) {
      have -= 8;
      out[at++] = <u8>(bits >> have);
    }
  }
  return out;
}

function sextet(c: i32): u32 {
  if (c >= 0x61) return c - 0x61 + 26;
  if (c >= 0x41) return c - 0x41;
  if (c >= 0x30) return c - 0x30 + 52;
  return c == 0x2b ? 62 : 63;
}
