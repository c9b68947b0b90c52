import { Json } from "./json/value";

/** What is known of the task and the attempt. Fields that the host does not tell are 0 or "". Times are Unix ms. */
export class Info {
  namespace: string = "";
  /** Of the task, the same in every attempt: a good idempotency key for effects outside. */
  id: string = "";
  behavior: string = "";
  /** Of the behavior. */
  version: string = "";
  /** 1, 2, …: counts every start, also after a lost worker. */
  attempt: i64 = 0;
  /** Of the retry policy; 0: no limit. */
  maxAttempts: i64 = 0;
  /** Failed runs since the last success, before this one. */
  failures: i64 = 0;
  /** Fencing token of the lease: larger for every later lease of the cluster. */
  token: u64 = 0;
  /** The operation that the task is part of. */
  parent: string = "";
  /** Of the operation. */
  partition: string = "";
  /** Of the task; the attempt's own is `Context.deadline`. */
  deadline: i64 = 0;
  created: i64 = 0;
  labels: Map<string, string> = new Map<string, string>();
  node: string = "";
  worker: string = "";
  priority: i64 = 0;

  constructor(
    /** The JSON text. */
    readonly raw: Uint8Array,
  ) {
    const v = Json.parse(raw).value;
    this.namespace = v.stringAt("namespace");
    this.id = v.stringAt("id");
    this.behavior = v.stringAt("behavior");
    this.version = v.stringAt("version");
    this.attempt = v.integerAt("attempt");
    this.maxAttempts = v.integerAt("max_attempts");
    this.failures = v.integerAt("failures");
    this.token = v.integerAt("token");
    this.parent = v.stringAt("parent");
    this.partition = v.stringAt("partition");
    this.deadline = v.integerAt("deadline_ms");
    this.created = v.integerAt("created_ms");
    this.node = v.stringAt("node");
    this.worker = v.stringAt("worker");
    this.priority = v.integerAt("priority");
    const labels = v.get("labels");
    if (labels !== null) {
      for (let i = 0; i < labels.length; i++) this.labels.set(labels.keys[i], labels.elements[i].asString);
    }
  }
}
