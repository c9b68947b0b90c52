import * as abi from "./abi";
import { Bytes } from "./bytes";
import { call } from "./host";
import { Status, statusOf } from "./status";

/**
 * Reads an input that may be larger than the guest's memory in pieces: params, a checkpoint, or a blob. Every read asks the host, which
 * copies straight into the given array: read some KiB at once.
 *
 *     const piece = new Uint8Array(65536);
 *     for (let n = r.read(piece); n > 0; n = r.read(piece)) use(piece.subarray(0, n));
 *     if (r.status != Status.Ok) return Outcome.refused(r.status);
 */
export class Reader {
  /** Where `read` goes on. */
  position: i64 = 0;
  /** Why the last read ended early; Ok at the end of the input. */
  status: Status = Status.Ok;

  constructor(
    /** Length of the whole input, in bytes. */
    readonly size: i64,
    private channel: i32,
    private blob: Uint8Array | null,
  ) {}

  /** Reads on, and returns how many bytes it read. It reads fewer than there is room for only at the end, or if it fails, as `status` says. */
  read(to: Uint8Array): i32 {
    const n = this.readAt(to, this.position);
    this.position += n;
    return n;
  }

  /** Reads from a byte on, as `read` does, and leaves `position` where it is. */
  readAt(to: Uint8Array, from: i64): i32 {
    this.status = from < 0 ? Status.Invalid : Status.Ok;
    let n = 0;
    while (this.status == Status.Ok && n < to.length && from + n < this.size) {
      const ptr = to.dataStart + n;
      const most = to.length - n;
      const got = this.blob === null ? abi.read(this.channel, ptr, <i32>(from + n), most) : this.readBlob(ptr, from + n, most);
      if (got > 0) n += got;
      else this.status = got < 0 ? statusOf(got) : Status.Invalid;
    }
    return n;
  }

  /** One request. */
  private readBlob(to: usize, from: i64, most: i32): i32 {
    most = min(most, abi.MAX_RESPONSE);
    const request = new Bytes().bytes(this.blob!).u64(from).u32(most).take();
    const n = call(abi.op.BLOB_READ, request);
    if (n <= 0) return n;
    return n <= most && abi.read(abi.channel.RESPONSE, to, 0, n) == n ? n : Status.Invalid;
  }
}
