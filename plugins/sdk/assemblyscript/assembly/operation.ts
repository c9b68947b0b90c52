import { rawMembers } from "./json/parse";
import { Json } from "./json/value";

/** The params of a task of an operation: of a partition, of the completion, or of a cleanup. */
export class OperationTask {
  /** ID. */
  operation: string = "";
  target: string = "";
  object: string = "";
  /** JSON, the argument with which the operation was started; "null" if there was none. */
  arg: Uint8Array = new Uint8Array(0);
  /** Of a partition and of its cleanup. */
  partition: string = "";
  /** Of a cleanup: the fencing token of the attempt that it tidies up behind. */
  token: u64 = 0;
  /** Of a completion: every partition succeeded. */
  success: bool = false;
  /** Of a completion: partitions. */
  succeeded: i64 = 0;
  failed: i64 = 0;

  /** Why the params are not those of a task of an operation, for `Outcome.badParams`; "" if they are. */
  problem: string = "";

  /** Reads the params of a task that is part of an operation. */
  constructor(params: Uint8Array) {
    const members = rawMembers(params);
    if (members !== null) {
      for (let i = 0; i < members.length; i++) {
        if (members[i].name == "arg") this.arg = members[i].raw;
        else this.set(members[i].name, members[i].raw);
      }
    }
    if (this.operation.length == 0 && this.problem.length == 0) {
      this.problem = 'this behavior runs in an operation: "operation" is missing';
    }
  }

  /** Whether the params are those of a task of an operation. */
  get ok(): bool {
    return this.problem.length == 0;
  }

  private set(name: string, raw: Uint8Array): void {
    const parsed = Json.parse(raw);
    if (!parsed.ok) this.problem = name + ": " + parsed.error;
    const v = parsed.value;
    if (name == "operation") this.operation = v.asString;
    else if (name == "target") this.target = v.asString;
    else if (name == "object") this.object = v.asString;
    else if (name == "partition") this.partition = v.asString;
    else if (name == "token") this.token = v.asInteger;
    else if (name == "success") this.success = v.asBool;
    else if (name == "counts") {
      this.succeeded = v.integerAt("success");
      this.failed = v.integerAt("failure");
    }
  }
}
