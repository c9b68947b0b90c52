use std::ops::{Add, Sub};
use std::time::Duration;

use crate::json::{self, FromJson, ToJson, Value};

/// An instant of the host's clock in Unix milliseconds. In JSON it is that number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The instant that many milliseconds after 1970-01-01 UTC.
    pub const fn from_unix_millis(ms: i64) -> Time {
        Time(ms)
    }

    /// Milliseconds after 1970-01-01 UTC.
    pub const fn unix_millis(self) -> i64 {
        self.0
    }
}

/// Later by whole milliseconds.
impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(millis(d)))
    }
}

/// Earlier by whole milliseconds.
impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(millis(d)))
    }
}

/// How much later `self` is; zero if it is earlier.
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn millis(d: Duration) -> i64 {
    i64::try_from(d.as_millis()).unwrap_or(i64::MAX)
}

impl ToJson for Time {
    fn write_json(&self, out: &mut String) {
        self.0.write_json(out);
    }
}

impl FromJson for Time {
    fn from_json(value: Value) -> Result<Time, json::Error> {
        i64::from_json(value).map(Time)
    }
}
