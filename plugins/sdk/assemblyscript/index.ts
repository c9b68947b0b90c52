// All of the SDK. A plugin exports taskrt_run and taskrt_describe from here, and registers its behaviors.

export { op } from "./assembly/abi";
export {
  Behavior, Concurrency, FOREVER, HOUR, Id, Limits, MILLISECOND, MINUTE, NO_JITTER, OnError, Operation, OperationConcurrency, Retry, SECOND,
  UNLIMITED, register,
} from "./assembly/behavior";
export { Bytes, decode, encode } from "./assembly/bytes";
export { Answer, Context, Level, Signals } from "./assembly/context";
export { process, sleep } from "./assembly/globals";
export { Info } from "./assembly/info";
export { Fields, blobName } from "./assembly/json/fields";
export { JsonParser, RawMember, rawMembers } from "./assembly/json/parse";
export { Json, JsonKind, JsonParsed } from "./assembly/json/value";
export { JsonWriter } from "./assembly/json/write";
export { OperationTask } from "./assembly/operation";
export { Outcome, OutcomeKind } from "./assembly/outcome";
export { Partition, PartitionError, Partitions } from "./assembly/partitions";
export { Reader } from "./assembly/reader";
export { taskrt_describe, taskrt_run } from "./assembly/run";
export { Span } from "./assembly/span";
export { Status, statusText } from "./assembly/status";
