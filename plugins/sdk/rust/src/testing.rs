//! Runs behaviors natively, against a host in memory. Unit tests of plugins need no wasm and no cluster, and a debugger works.
//!
//! ```
//! use taskrt::{testing::Task, Behavior, Context, Error};
//!
//! fn hello(_: &mut Context, name: String) -> Result<String, Error> {
//!     Ok(format!("hello {name}"))
//! }
//!
//! let run = Task::new(r#""Ada""#).run(&[Behavior::new("hello", hello)], "hello");
//! assert_eq!(run.result(), r#""hello Ada""#);
//! ```
//!
//! It cannot show the sandbox: memory limits, timeouts, traps, fresh memory per attempt. `taskrt run FILE.wasm` runs the
//! real module.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use crate::abi;
use crate::behavior::Behavior;
use crate::context::{Level, Signals};
use crate::error::HostError;
use crate::host::Host;
use crate::info::Info;
use crate::json::{self, Members, ObjectWriter, Value};
use crate::partitions::Partition;
use crate::time::Time;

/// The answer to a heartbeat.
pub type OnBeat = Box<dyn FnMut(u64) -> Signals>;

/// Whether a checkpoint is stored.
pub type OnSave = Box<dyn FnMut(&[u8]) -> Result<(), HostError>>;

/// A task: what its attempts are given, and what they did. The fields from `beats` on are what they did. Running the task again is the
/// next attempt, which sees the last saved checkpoint.
pub struct Task {
    /// As submitted.
    pub params: Vec<u8>,
    /// The checkpoint that was saved last.
    pub checkpoint: Option<Vec<u8>>,
    /// Of the module.
    pub config: Option<Vec<u8>>,
    /// `id` and `behavior` are filled in if empty; `attempt` and `token` rise with every run.
    pub info: Info,
    /// The answer to heartbeat number n = 1, 2, … over all attempts; it stays until the attempt ends.
    pub on_beat: Option<OnBeat>,
    /// Refuses checkpoints.
    pub on_save: Option<OnSave>,
    /// The host's clock. It stands still, except for `beat_takes` and sleeping.
    pub now: Time,
    /// How far a heartbeat moves the clock.
    pub beat_takes: Duration,
    /// Of one attempt; by default an hour.
    pub timeout: Duration,
    /// The most bytes of a result; by default 16 MiB.
    pub max_result: usize,
    /// The most bytes of a checkpoint; by default 16 MiB.
    pub max_checkpoint: usize,
    /// Contents by name (`sha256:…`).
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Of the operation that the task is part of; their `index` is filled in.
    pub partitions: Option<Vec<Partition>>,

    /// Done and total of every heartbeat.
    pub beats: Vec<(i64, i64)>,
    /// Every checkpoint saved.
    pub saved: Vec<Vec<u8>>,
    /// Every progress note.
    pub notes: Vec<String>,
    /// Every line logged.
    pub logs: Vec<(i32, String)>,
    /// Every span of the plugin's own, in the order of their beginning.
    pub spans: Vec<Span>,
}

/// A span of the plugin's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// As given.
    pub name: String,
    /// `KEY=VALUE`.
    pub attributes: Vec<String>,
    /// How many spans lie around it.
    pub depth: usize,
    /// By the plugin.
    pub ended: bool,
    /// It failed.
    pub why: String,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            params: Vec::new(),
            checkpoint: None,
            config: None,
            info: Info::default(),
            on_beat: None,
            on_save: None,
            now: Time::from_unix_millis(946_684_800_000), // 2000-01-01
            beat_takes: Duration::ZERO,
            timeout: Duration::from_secs(3600),
            max_result: 16 << 20,
            max_checkpoint: 16 << 20,
            blobs: BTreeMap::new(),
            partitions: None,
            beats: Vec::new(),
            saved: Vec::new(),
            notes: Vec::new(),
            logs: Vec::new(),
            spans: Vec::new(),
        }
    }
}

impl Task {
    /// A task with these params, before its first attempt.
    pub fn new(params: impl Into<Vec<u8>>) -> Task {
        Task { params: params.into(), ..Task::default() }
    }

    /// Sends a signal at heartbeat number n, counted over all attempts. The attempt that beats it sees the signal until it ends.
    pub fn signal_at_beat(&mut self, n: u64, signals: Signals) {
        self.on_beat = Some(Box::new(move |k| if k == n { signals } else { Signals::NONE }));
    }

    /// Runs one attempt of a behavior to its end.
    ///
    /// # Panics
    /// If there is no such behavior.
    pub fn run(&mut self, behaviors: &[Behavior], name: &str) -> Run {
        let index = behaviors.iter().position(|b| b.name() == name);
        let index = index.unwrap_or_else(|| panic!("there is no behavior {name}"));
        self.info.attempt += 1;
        self.info.token += 1;
        let mut info = self.info.clone();
        for (field, filled) in [(&mut info.id, "test-task"), (&mut info.behavior, name)] {
            if field.is_empty() {
                *field = filled.to_string();
            }
        }
        let host = Rc::new(TestHost(RefCell::new(State {
            start: self.now,
            info: info.to_json().into_bytes(),
            seed: self.info.attempt,
            task: std::mem::take(self),
            ..State::default()
        })));
        let outcome = crate::run::run(host.clone(), behaviors, index as i32);
        let state = host.0.take();
        *self = state.task;
        Run::new(outcome, state.out)
    }
}

/// The manifest that the host would get, as JSON.
///
/// # Panics
/// If a name is there twice, or a schema is no JSON.
pub fn manifest(behaviors: &[Behavior]) -> String {
    crate::run::describe(behaviors)
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Of the five kinds.
    pub outcome: Outcome,
    /// Of a success; `None`: it set none.
    pub result: Option<Vec<u8>>,
    /// Of a failure; "": it has none of its own.
    pub code: String,
    /// Of a failure.
    pub message: String,
    /// Of a failure.
    pub details: Option<Value>,
    /// When it wants to run again.
    pub next_time: Option<Time>,
}

/// The kinds of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success.
    Ok,
    /// A failure that may be retried.
    Retryable,
    /// A failure for good.
    Permanent,
    /// Cancelled.
    Cancelled,
    /// Run me again.
    Yield,
}

impl Run {
    fn new(outcome: i32, mut out: BTreeMap<i32, Vec<u8>>) -> Run {
        let outcome = match outcome {
            abi::OK => Outcome::Ok,
            abi::RETRYABLE => Outcome::Retryable,
            abi::PERMANENT => Outcome::Permanent,
            abi::CANCELLED => Outcome::Cancelled,
            _ => Outcome::Yield,
        };
        let mut run = Run { outcome, result: None, code: String::new(), message: String::new(), details: None, next_time: None };
        if outcome == Outcome::Ok {
            run.result = out.remove(&abi::RESULT);
        }
        if let Some(ms) = out.remove(&abi::NEXT_TIME) {
            run.next_time = json::from_slice(&ms).ok();
        }
        if let Some(Ok(Value::Object(detail))) = out.remove(&abi::ERROR_DETAIL).map(|text| Value::parse(&text)) {
            let text = |name| detail.get(name).and_then(Value::as_str).unwrap_or("").to_string();
            run.code = text("code");
            run.message = text("message");
            run.details = detail.get("details").cloned();
        }
        run
    }

    /// The result as text; "" if there is none.
    pub fn result(&self) -> String {
        String::from_utf8_lossy(self.result.as_deref().unwrap_or(b"")).into_owned()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("info", &self.info).field("beats", &self.beats).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    task: Task,
    info: Vec<u8>,
    start: Time,
    signals: Signals,
    response: Option<Vec<u8>>,
    out: BTreeMap<i32, Vec<u8>>,
    seed: u64,
    open: Vec<usize>, // spans, by their places
}

struct TestHost(RefCell<State>);

impl State {
    fn input(&self, channel: i32) -> Result<&[u8], i32> {
        let there = match channel {
            abi::PARAMS => Some(&self.task.params),
            abi::INFO => Some(&self.info),
            abi::CHECKPOINT => self.task.checkpoint.as_ref(),
            abi::RESPONSE => self.response.as_ref(),
            abi::CONFIG => self.task.config.as_ref(),
            _ => return Err(abi::ENOSYS),
        };
        there.map(Vec::as_slice).ok_or(abi::ENOENT)
    }

    fn call(&mut self, op: i32, payload: &[u8]) -> Result<Vec<u8>, i32> {
        match op {
            abi::OP_CHECKPOINT_SAVE => self.save(payload),
            abi::OP_RANDOM => {
                let n = u32::from_le_bytes(payload.try_into().map_err(|_| abi::EINVAL)?) as usize;
                if n > abi::MAX_RANDOM {
                    return Err(abi::EINVAL);
                }
                Ok((0..n).map(|_| self.draw()).collect())
            }
            abi::OP_BLOB_SIZE | abi::OP_BLOB_READ => self.blob(op, payload),
            abi::OP_PARTITIONS => self.page(payload),
            abi::OP_SPAN_BEGIN => self.begin_span(payload),
            abi::OP_SPAN_END => self.end_span(payload),
            _ => Err(abi::ENOSYS),
        }
    }

    fn begin_span(&mut self, payload: &[u8]) -> Result<Vec<u8>, i32> {
        let text = std::str::from_utf8(payload).map_err(|_| abi::EINVAL)?;
        let mut lines = text.split('\n').map(str::to_string);
        let name = lines.next().filter(|name| !name.is_empty()).ok_or(abi::EINVAL)?;
        let attributes: Vec<String> = lines.collect();
        let key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
        for attribute in &attributes {
            let (k, _) = attribute.split_once('=').ok_or(abi::EINVAL)?;
            if k.is_empty() || k.starts_with("taskrt.") || !k.chars().all(key) {
                return Err(abi::EINVAL);
            }
        }
        if self.open.len() == 16 {
            return Err(abi::E2BIG);
        }
        self.task.spans.push(Span { name, attributes, depth: self.open.len(), ended: false, why: String::new() });
        self.open.push(self.task.spans.len() - 1);
        Ok(Vec::new())
    }

    fn end_span(&mut self, why: &[u8]) -> Result<Vec<u8>, i32> {
        let at = self.open.pop().ok_or(abi::ENOENT)?;
        let span = &mut self.task.spans[at];
        span.ended = true;
        span.why = String::from_utf8_lossy(why).into_owned();
        Ok(Vec::new())
    }

    /// One step of splitmix64: the same bytes in every run of a test.
    fn draw(&mut self) -> u8 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u8
    }

    fn save(&mut self, data: &[u8]) -> Result<Vec<u8>, i32> {
        if data.len() > self.task.max_checkpoint {
            return Err(abi::E2BIG);
        }
        if let Some(refuse) = &mut self.task.on_save {
            refuse(data).map_err(HostError::status)?;
        }
        self.task.saved.push(data.to_vec());
        self.task.checkpoint = Some(data.to_vec());
        Ok(Vec::new())
    }

    fn blob(&self, op: i32, payload: &[u8]) -> Result<Vec<u8>, i32> {
        let want = abi::BLOB_NAME + if op == abi::OP_BLOB_READ { 12 } else { 0 };
        if payload.len() != want {
            return Err(abi::EINVAL);
        }
        let (name, rest) = payload.split_at(abi::BLOB_NAME);
        let name = std::str::from_utf8(name).map_err(|_| abi::EINVAL)?;
        let blob = self.task.blobs.get(name).ok_or(abi::ENOENT)?;
        if op == abi::OP_BLOB_SIZE {
            return Ok((blob.len() as u64).to_le_bytes().to_vec());
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n: u64, b| n << 8 | u64::from(*b)) as usize;
        let (offset, n) = (number(&rest[..8]).min(blob.len()), number(&rest[8..]));
        if n > abi::MAX_RESPONSE {
            return Err(abi::E2BIG);
        }
        Ok(blob[offset..blob.len().min(offset + n)].to_vec())
    }

    /// A page of so few that a guest reads several, as it may have to.
    fn page(&self, payload: &[u8]) -> Result<Vec<u8>, i32> {
        const MOST: usize = 3;
        let all = self.task.partitions.as_ref().ok_or(abi::EDENIED)?;
        let from: usize =
            Value::parse(payload).and_then(Members::of).and_then(|mut request| request.take("from")).map_err(|_| abi::EINVAL)?;
        let from = from.min(all.len());
        let to = all.len().min(from + MOST);
        let mut out = String::from("{\"partitions\":[");
        for (i, p) in all[from..to].iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_partition(p, from + i, &mut out);
        }
        let next = if to < all.len() { to as i64 } else { -1 };
        out.push_str(&format!("],\"next\":{next}}}"));
        Ok(out.into_bytes())
    }
}

fn write_partition(p: &Partition, index: usize, out: &mut String) {
    let mut w = ObjectWriter::new(out);
    w.member("index", &index);
    w.member("partition", &p.name);
    w.member("status", &p.status);
    match &p.result {
        Some(result) if p.binary => w.member("result_base64", &base64(result)),
        Some(result) => w.name("result").push_str(&String::from_utf8_lossy(result)),
        None => {}
    }
    w.member("blob", &p.blob);
    if let Some(e) = &p.error {
        let mut w = ObjectWriter::new(w.name("error"));
        w.member("code", &e.code);
        w.member("message", &e.message);
        w.member("retryable", &e.retryable);
        w.end();
    }
    w.end();
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |n, b| n << 8 | usize::from(*b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * i) & 63];
            out.push(if i <= three.len() { digit as char } else { '=' });
        }
    }
    out
}

impl Host for TestHost {
    fn len(&self, channel: i32) -> i32 {
        self.0.borrow().input(channel).map_or_else(|status| status, |data| data.len() as i32)
    }

    fn read(&self, channel: i32, offset: u32, to: &mut [u8]) -> i32 {
        let state = self.0.borrow();
        match state.input(channel) {
            Ok(data) => {
                let rest = &data[data.len().min(offset as usize)..];
                let n = rest.len().min(to.len());
                to[..n].copy_from_slice(&rest[..n]);
                n as i32
            }
            Err(status) => status,
        }
    }

    fn write(&self, channel: i32, from: &[u8]) -> i32 {
        let state = &mut *self.0.borrow_mut();
        let limit = match channel {
            abi::RESULT => state.task.max_result,
            abi::ERROR_DETAIL => 16 << 10,
            abi::PROGRESS => 4 << 10,
            abi::NEXT_TIME => 20,
            _ => return abi::ENOSYS,
        };
        let out = state.out.entry(channel).or_default();
        if channel == abi::PROGRESS {
            out.clear();
        }
        if out.len() + from.len() > limit {
            return abi::E2BIG;
        }
        out.extend_from_slice(from);
        if channel == abi::PROGRESS {
            state.task.notes.push(String::from_utf8_lossy(from).into_owned());
        }
        from.len() as i32
    }

    fn log(&self, level: i32, message: &[u8]) {
        let message = String::from_utf8_lossy(message).into_owned();
        self.0.borrow_mut().task.logs.push((level.clamp(Level::Trace as i32, Level::Error as i32), message));
    }

    fn beat(&self, done: i64, total: i64) -> i32 {
        let state = &mut *self.0.borrow_mut();
        state.task.beats.push((done, total));
        state.task.now = state.task.now + state.task.beat_takes;
        let n = state.task.beats.len() as u64;
        if let Some(say) = &mut state.task.on_beat {
            state.signals |= say(n);
        }
        state.signals.bits() as i32
    }

    fn signals(&self) -> i32 {
        self.0.borrow().signals.bits() as i32
    }

    fn clock(&self, id: i32) -> i64 {
        let state = self.0.borrow();
        let gone = state.task.now - state.start;
        match id {
            abi::CLOCK_WALL => state.task.now.unix_millis(),
            abi::CLOCK_DEADLINE => state.task.timeout.saturating_sub(gone).as_millis() as i64,
            abi::CLOCK_MONOTONIC => gone.as_nanos() as i64,
            _ => i64::from(abi::ENOSYS),
        }
    }

    fn call(&self, op: i32, payload: &[u8]) -> i32 {
        let state = &mut *self.0.borrow_mut();
        state.response = None;
        match state.call(op, payload) {
            Ok(response) => {
                let n = response.len() as i32;
                state.response = Some(response);
                n
            }
            Err(status) => status,
        }
    }

    fn sleep(&self, time: Duration) {
        let state = &mut *self.0.borrow_mut();
        state.task.now = state.task.now + time;
    }
}
