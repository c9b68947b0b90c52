use std::fmt;
use std::ops::{BitOr, BitOrAssign};
use std::rc::Rc;
use std::time::Duration;

use crate::abi;
use crate::error::{Error, HostError};
use crate::host::{call_into, read_all, Host};
use crate::info::Info;
use crate::json::{self, FromJson, ToJson};
use crate::operation::OperationTask;
use crate::partitions::Partitions;
use crate::reader::Reader;
use crate::time::Time;

/// One attempt: its input, its output, and what the host wants from it.
pub struct Context {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) result: Option<Vec<u8>>,
    pub(crate) again: Option<Time>,
    info: Info,
}

impl Context {
    pub(crate) fn new(host: Rc<dyn Host>) -> Context {
        let info = Info::parse(&read_all(&*host, abi::INFO).unwrap_or_default());
        Context { host, result: None, again: None, info }
    }

    /// The task's params as submitted: JSON, or any bytes; empty if there were none. They may be 16 MiB, if the behavior's limit
    /// allows: [`Context::params_reader`] reads them in pieces.
    pub fn params(&self) -> Vec<u8> {
        read_all(&*self.host, abi::PARAMS).unwrap_or_default()
    }

    /// The params in pieces.
    pub fn params_reader(&self) -> Reader {
        Reader::channel(&self.host, abi::PARAMS).unwrap_or_else(|| Reader::empty(&self.host))
    }

    /// What is known of the task and the attempt.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The module's configuration, which an operator sets.
    pub fn config(&self) -> Option<Vec<u8>> {
        read_all(&*self.host, abi::CONFIG)
    }

    /// Sets the result. It counts if the behavior returns `Ok`; the last call wins. Valid JSON becomes the task's `result`, other
    /// bytes become its `result_base64`. Typed behaviors return their result instead.
    pub fn set_result(&mut self, result: impl Into<Vec<u8>>) {
        self.result = Some(result.into());
    }

    /// Makes the task run again at this time if it succeeds, whatever [`Behavior::repeat_every`](crate::Behavior::repeat_every) says. The
    /// result stands until then.
    pub fn run_again(&mut self, at: Time) {
        self.again = Some(at);
    }

    /// Says that the attempt makes progress: `done` of `total`, in any unit; `total` 0 if unknown. It costs well under a
    /// microsecond (the host keeps the lease alive by itself), so call it often.
    pub fn heartbeat(&self, done: u64, total: u64) -> Signals {
        let clamp = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Signals::of(self.host.beat(clamp(done), clamp(total)))
    }

    /// Returns the signals without a heartbeat.
    pub fn signals(&self) -> Signals {
        Signals::of(self.host.signals())
    }

    /// Replaces the progress note, which readers of the task see beside done and total: up to 4 KiB.
    pub fn note(&self, text: &str) {
        self.host.write(abi::PROGRESS, text.as_bytes());
    }

    /// The last checkpoint that an earlier attempt of this task, or this attempt, saved.
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        read_all(&*self.host, abi::CHECKPOINT)
    }

    /// The last checkpoint in pieces.
    pub fn checkpoint_reader(&self) -> Option<Reader> {
        Reader::channel(&self.host, abi::CHECKPOINT)
    }

    /// The last checkpoint as a `T`. `None` if there is none, or if it is not of this type: a checkpoint of an older version of the plugin
    /// counts as none.
    pub fn checkpoint_json<T: FromJson>(&self) -> Option<T> {
        json::from_slice(&self.checkpoint()?).ok()
    }

    /// Stores data with the task. When it returns `Ok`, a majority of the cluster has the data on disk, and the next attempt will find it
    /// wherever it runs. This costs a round of consensus: save every second or so, not in every step. After
    /// [`HostError::Unavailable`] (there is no leader right now; the data may or may not be stored) go on and save again later. After
    /// [`HostError::LeaseLost`] return.
    pub fn save_checkpoint(&self, data: impl AsRef<[u8]>) -> Result<(), HostError> {
        HostError::check(self.host.call(abi::OP_CHECKPOINT_SAVE, data.as_ref())).map(|_| ())
    }

    /// [`Context::save_checkpoint`] as JSON.
    pub fn save_checkpoint_json<T: ToJson + ?Sized>(&self, data: &T) -> Result<(), HostError> {
        self.save_checkpoint(json::to_string(data))
    }

    /// The time of the host.
    pub fn now(&self) -> Time {
        Time::from_unix_millis(self.host.clock(abi::CLOCK_WALL))
    }

    /// When the attempt's time is over.
    pub fn deadline(&self) -> Time {
        self.now() + self.remaining()
    }

    /// How much time the attempt has left.
    pub fn remaining(&self) -> Duration {
        Duration::from_millis(self.host.clock(abi::CLOCK_DEADLINE).max(0) as u64)
    }

    /// A time that only moves forward, for measuring. Only differences of it mean something.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.host.clock(abi::CLOCK_MONOTONIC).max(0) as u64)
    }

    /// Sleeps, at the latest until the attempt ends. To wait for long, return [`Error::yield_until`].
    pub fn sleep(&self, time: Duration) {
        self.host.sleep(time);
    }

    /// Fills `to` with random bytes from the host. At the start of every attempt memory is the same, so a generator with a fixed seed
    /// would give the same numbers in each attempt.
    pub fn random(&self, to: &mut [u8]) -> Result<(), HostError> {
        for piece in to.chunks_mut(abi::MAX_RANDOM) {
            let got = call_into(&*self.host, abi::OP_RANDOM, &(piece.len() as u32).to_le_bytes(), piece)?;
            if got != piece.len() {
                return Err(HostError::Invalid);
            }
        }
        Ok(())
    }

    /// Opens a blob by its name, `sha256:` and 64 hexadecimal digits. [`HostError::NotFound`]: no node has it.
    /// [`HostError::Unavailable`]: it cannot be had now, so end with a retryable error.
    pub fn blob(&self, name: &str) -> Result<Reader, HostError> {
        Reader::blob(&self.host, name)
    }

    /// The partitions of the operation that the task is part of, in order, from index `from` on. So a completion reads outcomes and
    /// results without all of them in memory. After an error there is nothing more: [`HostError::Denied`] (the task is part of no
    /// operation), [`HostError::Unavailable`] (nobody answers now: end with a retryable error), [`HostError::LeaseLost`].
    pub fn partitions(&self, from: u64) -> Partitions {
        Partitions::new(&self.host, from)
    }

    /// The params of a task that is part of an operation. If the params are not those of such a task, the error is a failure for good with
    /// the code `bad_params`, which tells whoever submits the behavior by itself. Typed behaviors may take an [`OperationTask`].
    pub fn operation_task(&self) -> Result<OperationTask, Error> {
        json::from_slice(&self.params()).map_err(Error::bad_params)
    }

    /// Makes a request of the ABI (abi/README.md, "Ops of call") that has no method here, and returns the response.
    /// [`HostError::Unsupported`]: this host does not know it.
    pub fn call(&self, op: i32, payload: &[u8]) -> Result<Vec<u8>, HostError> {
        HostError::check(self.host.call(op, payload))?;
        Ok(read_all(&*self.host, abi::RESPONSE).unwrap_or_default())
    }

    /// Adds a line to the task's log (`taskrt logs ID`). The log is bounded: lines over the limit are dropped.
    ///
    /// ```
    /// # use taskrt::{Context, Level};
    /// # fn f(c: &Context, n: u32) {
    /// c.log(Level::Info, "begun");
    /// c.log(Level::Warn, format_args!("{n} rows are left out"));
    /// # }
    /// ```
    pub fn log(&self, level: Level, message: impl fmt::Display) {
        self.host.log(level as i32, message.to_string().as_bytes());
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Level {
    /// The least.
    Trace = 0,
    /// For whoever wrote the plugin.
    Debug = 1,
    /// For whoever runs the task.
    Info = 2,
    /// Something is odd.
    Warn = 3,
    /// Something is wrong.
    Error = 4,
}

/// What the host asks of a running attempt: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signals(u32);

impl Signals {
    /// Nothing.
    pub const NONE: Signals = Signals(0);
    /// The task is being cancelled.
    pub const CANCEL: Signals = Signals(1);
    /// Another attempt may be running.
    pub const LEASE_LOST: Signals = Signals(2);
    /// The worker goes away.
    pub const DRAINING: Signals = Signals(4);
    /// The attempt's time is nearly over.
    pub const DEADLINE_NEAR: Signals = Signals(8);

    /// Reads an answer of the host; a status asks nothing.
    fn of(answer: i32) -> Signals {
        Signals(answer.max(0) as u32)
    }

    /// The bits of the ABI.
    pub fn bits(self) -> u32 {
        self.0
    }

    fn has(self, other: Signals) -> bool {
        self.0 & other.0 != 0
    }

    /// The attempt should stop: the task is being cancelled, or the lease is lost. Return [`Error::cancelled`].
    pub fn cancelled(self) -> bool {
        self.has(Signals::CANCEL | Signals::LEASE_LOST)
    }

    /// Another attempt may be running: nothing that this attempt reports counts any more.
    pub fn lease_lost(self) -> bool {
        self.has(Signals::LEASE_LOST)
    }

    /// The worker wants to stop: save a checkpoint and return [`Error::yield_now`].
    pub fn draining(self) -> bool {
        self.has(Signals::DRAINING)
    }

    /// The attempt's time is nearly over.
    pub fn deadline_near(self) -> bool {
        self.has(Signals::DEADLINE_NEAR)
    }
}

impl BitOr for Signals {
    type Output = Signals;
    fn bitor(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
}

impl BitOrAssign for Signals {
    fn bitor_assign(&mut self, other: Signals) {
        self.0 |= other.0;
    }
}
