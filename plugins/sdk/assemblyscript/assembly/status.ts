/** The host's answers to a request. All but `Ok` refuse it. The numbers are those of the ABI. */
export enum Status {
  Ok = 0,
  /** This host does not offer it. */
  Unsupported = -1,
  /** Refused as invalid. */
  Invalid = -2,
  /** Larger than a limit. */
  TooLarge = -3,
  /** Not there. */
  NotFound = -4,
  /** Not possible now; try again later. */
  Unavailable = -5,
  /** Not granted to this module, or not now. */
  Denied = -6,
  /** Another attempt may be running: stop. */
  LeaseLost = -7,
}

/** The status in an answer of the host. Statuses of a later ABI count as `Invalid`. */
export function statusOf(answer: i32): Status {
  if (answer >= 0) return Status.Ok;
  return answer < Status.LeaseLost ? Status.Invalid : <Status>answer;
}

/** What a status says. */
export function statusText(s: Status): string {
  switch (s) {
    case Status.Ok:
      return "ok";
    case Status.Unsupported:
      return "this host does not offer it";
    case Status.TooLarge:
      return "larger than the limit";
    case Status.NotFound:
      return "not there";
    case Status.Unavailable:
      return "not possible now; try again later";
    case Status.Denied:
      return "not granted to this module";
    case Status.LeaseLost:
      return "the lease is lost: another attempt may be running; stop";
    default:
      return "refused as invalid by the host";
  }
}
