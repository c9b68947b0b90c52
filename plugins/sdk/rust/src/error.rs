use std::fmt;

use crate::json::{self, ToJson};
use crate::time::Time;

/// The end of an attempt that does not succeed: a failure, a cancellation, or the wish to run again.
///
/// `?` turns any [`std::error::Error`] into a retryable failure with the code `HANDLER_ERROR` and the error's text as message.
/// The behavior's [`Retry`](crate::Retry) says whether a retryable failure is retried.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(pub(crate) Box<Ending>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    Failed(Failure),
    Cancelled,
    Yield(Option<Time>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: String, // "": the host's HANDLER_ERROR
    pub(crate) message: String,
    pub(crate) retryable: bool,
    pub(crate) details: Option<String>, // JSON
    pub(crate) at: Option<Time>,
}

impl Error {
    /// A failure without a code of its own, that may be retried.
    pub fn new(message: impl Into<String>) -> Error {
        Error::retryable("", message)
    }

    /// A failure that may be retried. `code` is `[a-z0-9_.-]{1,64}`.
    pub fn retryable(code: impl Into<String>, message: impl Into<String>) -> Error {
        Error::failed(code.into(), message.into(), true)
    }

    /// A failure that is not retried. `code` is `[a-z0-9_.-]{1,64}`.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Error {
        Error::failed(code.into(), message.into(), false)
    }

    /// The failure of a typed handler whose params are not what it accepts: permanent, code `bad_params`.
    pub fn bad_params(message: impl fmt::Display) -> Error {
        Error::permanent("bad_params", message.to_string())
    }

    fn failed(code: String, message: String, retryable: bool) -> Error {
        Error(Box::new(Ending::Failed(Failure { code, message, retryable, details: None, at: None })))
    }

    /// Ends the attempt as cancelled. Return it when [`Signals::cancelled`](crate::Signals::cancelled) says so.
    pub fn cancelled() -> Error {
        Error(Box::new(Ending::Cancelled))
    }

    /// Ends the attempt without an outcome: the task runs again soon. It counts as no failure. Return it after a checkpoint when
    /// draining, or when there is nothing to do yet.
    pub fn yield_now() -> Error {
        Error(Box::new(Ending::Yield(None)))
    }

    /// As [`Error::yield_now`], but the task runs again at this time.
    pub fn yield_until(at: Time) -> Error {
        Error(Box::new(Ending::Yield(Some(at))))
    }

    /// Says when the next attempt should come, whatever the behavior's `Retry` says, and makes the failure retryable. It still
    /// counts as a failure.
    #[must_use]
    pub fn retry_at(self, at: Time) -> Error {
        self.change(|f| {
            f.retryable = true;
            f.at = Some(at);
        })
    }

    /// Makes the failure permanent: it is not retried. Code, message and details stay.
    #[must_use]
    pub fn into_permanent(self) -> Error {
        self.change(|f| {
            f.retryable = false;
            f.at = None;
        })
    }

    /// Adds JSON that is kept in the task's error. If the JSON makes the error longer than 16 KiB, all of the JSON is dropped.
    #[must_use]
    pub fn with_details<T: ToJson + ?Sized>(self, details: &T) -> Error {
        self.change(|f| f.details = Some(json::to_string(details)))
    }

    /// Puts `what: ` before the message; the rest stays.
    #[must_use]
    pub fn context(self, what: impl fmt::Display) -> Error {
        self.change(|f| f.message = format!("{}: {}", what, f.message))
    }

    fn change(mut self, how: impl FnOnce(&mut Failure)) -> Error {
        if let Ending::Failed(f) = &mut *self.0 {
            how(f);
        }
        self
    }

    fn failure(&self) -> Option<&Failure> {
        match &*self.0 {
            Ending::Failed(f) => Some(f),
            _ => None,
        }
    }

    /// The code of a failure; `""` if it has none of its own.
    pub fn code(&self) -> &str {
        self.failure().map_or("", |f| &f.code)
    }

    /// The message of a failure.
    pub fn message(&self) -> &str {
        self.failure().map_or("", |f| &f.message)
    }

    /// Whether it is a failure that may be retried.
    pub fn is_retryable(&self) -> bool {
        self.failure().map_or(false, |f| f.retryable)
    }
}

// Error itself is no std::error::Error: this would be a second From<Error>.
impl<E: std::error::Error> From<E> for Error {
    fn from(e: E) -> Error {
        Error::new(e.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Ending::Failed(e) if e.code.is_empty() => f.write_str(&e.message),
            Ending::Failed(e) => write!(f, "{}: {}", e.code, e.message),
            Ending::Cancelled => f.write_str("cancelled"),
            Ending::Yield(None) => f.write_str("run me again"),
            Ending::Yield(Some(at)) => write!(f, "run me again at {}", at.unix_millis()),
        }
    }
}

/// A refusal of the host, from everything that asks it: `save_checkpoint`, `random`, `blob`, `partitions`, `call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostError {
    /// Another attempt may be running; stop.
    LeaseLost,
    /// Larger than a limit.
    TooLarge,
    /// Not possible now; try again later.
    Unavailable,
    /// Not granted to this module, or not now.
    Denied,
    /// This host does not offer it.
    Unsupported,
    /// Refused as invalid.
    Invalid,
    /// Not there.
    NotFound,
}

impl HostError {
    /// The negative number of the ABI.
    pub fn status(self) -> i32 {
        use crate::abi::*;
        match self {
            HostError::Unsupported => ENOSYS,
            HostError::Invalid => EINVAL,
            HostError::TooLarge => E2BIG,
            HostError::NotFound => ENOENT,
            HostError::Unavailable => EAGAIN,
            HostError::Denied => EDENIED,
            HostError::LeaseLost => ECONFLICT,
        }
    }

    /// The meaning of a negative number. Numbers of a later ABI count as `Invalid`.
    pub(crate) fn of(status: i32) -> HostError {
        use HostError::*;
        let known = [Unsupported, Invalid, TooLarge, NotFound, Unavailable, Denied, LeaseLost];
        known.into_iter().find(|e| e.status() == status).unwrap_or(Invalid)
    }

    pub(crate) fn check(answer: i32) -> Result<usize, HostError> {
        if answer < 0 {
            return Err(HostError::of(answer));
        }
        Ok(answer as usize)
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostError::LeaseLost => "the lease is lost: another attempt may be running; stop",
            HostError::TooLarge => "larger than the behavior's limit",
            HostError::Unavailable => "not possible now; try again later",
            HostError::Denied => "not granted to this module",
            HostError::Unsupported => "this host does not offer it",
            HostError::Invalid => "refused as invalid by the host",
            HostError::NotFound => "not there",
        })
    }
}

impl std::error::Error for HostError {}
