use std::fmt;
use std::time::Duration;

use crate::context::Context;
use crate::error::Error;
use crate::json::{self, FromJson, ToJson, Value};

/// A named definition of what tasks do: a policy, and the function that does the work. Everything that is not set is the host's default,
/// which docs/plugin-manifest.md of taskrt lists. Durations are in whole milliseconds.
pub struct Behavior {
    pub(crate) name: String,
    pub(crate) run: Run,
    pub(crate) policy: Policy,
}

type Run = Box<dyn Fn(&mut Context) -> Result<(), Error>>;

#[derive(Debug, Default)]
pub(crate) struct Policy {
    pub(crate) description: String,
    pub(crate) id: Option<Id>,
    pub(crate) retry: Retry,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) heartbeat_timeout: Option<Duration>,
    pub(crate) cancel_grace: Option<Duration>,
    pub(crate) repeat_every: Option<Duration>,
    pub(crate) repeat_on_error: bool,
    pub(crate) limits: Limits,
    pub(crate) concurrency: Concurrency,
    pub(crate) operation: Option<Operation>,
    pub(crate) on_trap: Option<OnError>,
    pub(crate) on_timeout: Option<OnError>,
    pub(crate) on_exhausted: Option<OnError>,
    pub(crate) max_lost: Option<u32>,
    pub(crate) result_required: bool,
    pub(crate) params_schema: Option<String>,
    pub(crate) result_schema: Option<String>,
    pub(crate) keep_success: Option<Keep>,
    pub(crate) keep_failure: Option<Keep>,
    pub(crate) keep_count: Option<u64>,
}

impl Behavior {
    /// A behavior with typed params and result, both JSON. Params that `P` does not accept fail the task for good with the code
    /// `bad_params`. For a task without params, `P` gets `null`, and if `P` refuses `null`, `{}`.
    ///
    /// # Panics
    /// If the name is not 3 to 128 of `a-z0-9._-`, so that such a module cannot be uploaded.
    pub fn new<P, R, F>(name: &str, run: F) -> Behavior
    where
        P: FromJson,
        R: ToJson,
        F: Fn(&mut Context, P) -> Result<R, Error> + 'static,
    {
        Behavior::raw(name, move |c| {
            let params = typed(&c.params()).map_err(Error::bad_params)?;
            let result = run(c, params)?;
            c.set_result(json::to_string(&result));
            Ok(())
        })
    }

    /// A behavior that reads its params itself, as any bytes. It sets a result by [`Context::set_result`], or sets none.
    ///
    /// # Panics
    /// As [`Behavior::new`].
    pub fn raw<F>(name: &str, run: F) -> Behavior
    where
        F: Fn(&mut Context) -> Result<(), Error> + 'static,
    {
        let fits = (3..=128).contains(&name.len());
        let known = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'));
        assert!(fits && known, "a behavior's name is 3 to 128 of a-z0-9._-, not {name:?}");
        Behavior { name: name.to_string(), run: Box::new(run), policy: Policy::default() }
    }

    /// The name in `taskrt submit NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For readers, up to 4 KiB.
    #[must_use]
    pub fn description(mut self, text: &str) -> Behavior {
        self.policy.description = text.to_string();
        self
    }

    /// How a task gets its ID when the caller gives none.
    #[must_use]
    pub fn id(mut self, id: Id) -> Behavior {
        self.policy.id = Some(id);
        self
    }

    /// When failures are retried.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Behavior {
        self.policy.retry = retry;
        self
    }

    /// Bounds one attempt.
    #[must_use]
    pub fn run_timeout(mut self, d: Duration) -> Behavior {
        self.policy.run_timeout = Some(d);
        self
    }

    /// An attempt that does not call [`Context::heartbeat`] for this long is killed.
    #[must_use]
    pub fn heartbeat_timeout(mut self, d: Duration) -> Behavior {
        self.policy.heartbeat_timeout = Some(d);
        self
    }

    /// Between the cancel signal and the kill.
    #[must_use]
    pub fn cancel_grace(mut self, d: Duration) -> Behavior {
        self.policy.cancel_grace = Some(d);
        self
    }

    /// After a success the task runs again this long after its end.
    #[must_use]
    pub fn repeat_every(mut self, d: Duration) -> Behavior {
        self.policy.repeat_every = Some(d);
        self
    }

    /// With [`Behavior::repeat_every`]: after a final failure too.
    #[must_use]
    pub fn repeat_on_error(mut self) -> Behavior {
        self.policy.repeat_on_error = true;
        self
    }

    /// Bounds of one attempt.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Behavior {
        self.policy.limits = limits;
        self
    }

    /// How many tasks run at the same time in the cluster.
    #[must_use]
    pub fn concurrency(mut self, c: Concurrency) -> Behavior {
        self.policy.concurrency = c;
        self
    }

    /// Lets operations of the behavior be started. The behavior's function then does one partition of an operation.
    #[must_use]
    pub fn operation(mut self, o: Operation) -> Behavior {
        self.policy.operation = Some(o);
        self
    }

    /// What follows a crash: a panic, too.
    #[must_use]
    pub fn on_trap(mut self, e: OnError) -> Behavior {
        self.policy.on_trap = Some(e);
        self
    }

    /// What follows a run past its timeouts.
    #[must_use]
    pub fn on_timeout(mut self, e: OnError) -> Behavior {
        self.policy.on_timeout = Some(e);
        self
    }

    /// What follows a run out of memory or fuel.
    #[must_use]
    pub fn on_exhausted(mut self, e: OnError) -> Behavior {
        self.policy.on_exhausted = Some(e);
        self
    }

    /// How often the task's worker may die before the task fails with `LOST_TOO_OFTEN`.
    #[must_use]
    pub fn max_lost(mut self, n: u32) -> Behavior {
        self.policy.max_lost = Some(n);
        self
    }

    /// Makes a success without a result the failure `NO_RESULT`.
    #[must_use]
    pub fn result_required(mut self) -> Behavior {
        self.policy.result_required = true;
        self
    }

    /// JSON Schema 2020-12: a submit that does not match is refused. Text that is no JSON cannot be uploaded.
    #[must_use]
    pub fn params_schema(mut self, schema: &str) -> Behavior {
        self.policy.params_schema = Some(schema.to_string());
        self
    }

    /// JSON Schema 2020-12: a result that does not match is a failure.
    #[must_use]
    pub fn result_schema(mut self, schema: &str) -> Behavior {
        self.policy.result_schema = Some(schema.to_string());
        self
    }

    /// How long tasks that succeeded are kept.
    #[must_use]
    pub fn keep_success(mut self, keep: Keep) -> Behavior {
        self.policy.keep_success = Some(keep);
        self
    }

    /// How long tasks that failed are kept.
    #[must_use]
    pub fn keep_failure(mut self, keep: Keep) -> Behavior {
        self.policy.keep_failure = Some(keep);
        self
    }

    /// How many finished tasks are kept: the newest.
    #[must_use]
    pub fn keep_count(mut self, n: u64) -> Behavior {
        self.policy.keep_count = Some(n);
        self
    }
}

/// Reads params as a `P`.
fn typed<P: FromJson>(text: &[u8]) -> Result<P, json::Error> {
    if text.is_empty() {
        return P::from_json(Value::Null).or_else(|_| P::from_json(Value::Object(Default::default())));
    }
    json::from_slice(text)
}

impl fmt::Debug for Behavior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behavior").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// How a task gets its ID when the caller gives none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A random one (UUIDv7); the default.
    Random,
    /// A hash of the params: equal submissions share one task.
    Params,
    /// A hash of the values to which these JSON pointers point in the params.
    ParamsAt(Vec<String>),
    /// None: a submit without an ID is refused.
    Caller,
}

/// The retry policy: a retryable failure number n is followed by another attempt after
/// initial_interval × (multiplier_thousandths/1000)^(n-1), at most max_interval, less up to jitter_percent of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    pub(crate) max_attempts: Option<u32>,
    pub(crate) initial_interval: Option<Duration>,
    pub(crate) multiplier_thousandths: Option<u32>,
    pub(crate) max_interval: Option<Duration>,
    pub(crate) jitter_percent: Option<u32>,
}

impl Retry {
    /// The number of attempts; 1, the default, is no retry.
    pub fn attempts(n: u32) -> Retry {
        Retry { max_attempts: Some(n.max(1)), ..Retry::default() }
    }

    /// No limit of attempts.
    pub fn unlimited() -> Retry {
        Retry { max_attempts: Some(0), ..Retry::default() }
    }

    /// Before the first retry.
    #[must_use]
    pub fn initial_interval(mut self, d: Duration) -> Retry {
        self.initial_interval = Some(d);
        self
    }

    /// The factor between intervals × 1,000.
    #[must_use]
    pub fn multiplier_thousandths(mut self, n: u32) -> Retry {
        self.multiplier_thousandths = Some(n);
        self
    }

    /// The longest interval.
    #[must_use]
    pub fn max_interval(mut self, d: Duration) -> Retry {
        self.max_interval = Some(d);
        self
    }

    /// By how much per cent an interval may be shorter; 0: not at all.
    #[must_use]
    pub fn jitter_percent(mut self, n: u32) -> Retry {
        self.jitter_percent = Some(n);
        self
    }
}

/// Bounds of one attempt, and of what it reads and writes, in bytes; 0: the host's default.
///
/// ```
/// let small = taskrt::Limits { memory: 32 << 20, ..Default::default() };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the guest.
    pub memory: u64,
    /// Units, about one an instruction.
    pub fuel: u64,
    /// Params.
    pub params: u64,
    /// The result.
    pub result: u64,
    /// A checkpoint.
    pub checkpoint: u64,
    /// The log.
    pub log: u64,
}

/// How many tasks of the behavior run at the same time, in the whole cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concurrency {
    /// All together; 0: no limit.
    pub max: u32,
    /// JSON pointer into the params: tasks with the same value there share `per_key`; "": none.
    pub key: String,
    /// Tasks per key; 0: 1.
    pub per_key: u32,
    /// A task that waits for its retry keeps its place: with one task per key, tasks run strictly in order.
    pub strict: bool,
}

/// Makes the behavior's function do one partition of an operation. `repeat_every`, `id` and `Concurrency::key` must not be set then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Which operations of the behavior may run at the same time.
    pub concurrency: OperationConcurrency,
    /// Behaviors whose operations may not run on the same target at the same time.
    pub incompatible_with: Vec<String>,
    /// A partition that fails does not cancel the rest.
    pub run_all: bool,
    /// A checkpoint does not outlive its attempt: a partition that moves to another worker begins anew.
    pub restart: bool,
    /// Behavior of this module that runs when every partition has ended.
    pub complete: Option<String>,
    /// Behavior of this module that runs where a partition ran that was cancelled, failed or taken away.
    pub cleanup: Option<String>,
}

/// Which operations of a behavior may run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperationConcurrency {
    /// Any number.
    #[default]
    Many,
    /// One on each target.
    OnePerTarget,
    /// One on each object of a target.
    OnePerObject,
}

/// Whether a kind of failure is retried, within [`Retry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// It may be.
    Retry,
    /// It is not.
    Fail,
}

/// How long finished tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// For this long.
    For(Duration),
    /// Until they are removed.
    Forever,
}
