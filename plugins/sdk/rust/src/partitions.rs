use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use crate::abi;
use crate::error::HostError;
use crate::host::{read_all, Host};
use crate::json::{self, FromJson, Members, ObjectWriter, Value};

/// The outcome of one partition of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Partition {
    /// From 0.
    pub index: u64,
    /// Its name.
    pub name: String,
    /// Of its task: `SUCCESS` or `FAILURE`, when a completion runs.
    pub status: String,
    /// Of a success: JSON as it was written, unless `binary`; `None` if it is a blob.
    pub result: Option<Vec<u8>>,
    /// The result is no JSON.
    pub binary: bool,
    /// If the result is a blob, its name, for [`Context::blob`](crate::Context::blob).
    pub blob: Option<String>,
    /// Of a failure.
    pub error: Option<PartitionError>,
}

impl Partition {
    /// The result as a `T`. Without a result, `T` is read from `null`.
    pub fn json<T: FromJson>(&self) -> Result<T, json::Error> {
        json::from_slice(self.result.as_deref().unwrap_or(b"null"))
    }
}

/// Why a partition failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionError {
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: String,
    /// Whether it might have been retried.
    pub retryable: bool,
}

/// An iterator over partitions, which asks the host for a page at a time.
pub struct Partitions {
    host: Rc<dyn Host>,
    page: VecDeque<Partition>,
    next: Option<u64>, // where the next page begins
}

/// How many partitions one request asks for: the most that a host gives.
const PAGE: u64 = 1000;

impl Partitions {
    pub(crate) fn new(host: &Rc<dyn Host>, from: u64) -> Partitions {
        Partitions { host: host.clone(), page: VecDeque::new(), next: Some(from) }
    }

    /// Asks for the page that begins there.
    fn ask(&mut self, from: u64) -> Result<(), HostError> {
        let mut request = String::new();
        let mut w = ObjectWriter::new(&mut request);
        w.member("from", &from);
        w.member("limit", &PAGE);
        w.end();
        HostError::check(self.host.call(abi::OP_PARTITIONS, request.as_bytes()))?;
        let text = read_all(&*self.host, abi::RESPONSE).unwrap_or_default();
        let (page, next) = parse(&text).map_err(|_| HostError::Invalid)?;
        if next.map_or(false, |next| next <= from) {
            return Err(HostError::Invalid); // it would never end
        }
        self.page = page;
        self.next = next;
        Ok(())
    }
}

impl Iterator for Partitions {
    type Item = Result<Partition, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.page.is_empty() {
            let from = self.next.take()?;
            if let Err(e) = self.ask(from) {
                return Some(Err(e));
            }
        }
        self.page.pop_front().map(Ok)
    }
}

impl fmt::Debug for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions").field("next", &self.next).finish_non_exhaustive()
    }
}

/// Reads a page, and where the next one begins.
fn parse(text: &[u8]) -> Result<(VecDeque<Partition>, Option<u64>), json::Error> {
    let mut page = VecDeque::new();
    let mut next = None;
    for (name, raw) in json::members(text)? {
        match name.as_str() {
            "next" => next = u64::try_from(json::from_slice::<i64>(raw)?).ok(),
            "partitions" => {
                for raw in json::elements(raw)? {
                    page.push_back(partition(raw)?);
                }
            }
            _ => {}
        }
    }
    Ok((page, next))
}

fn partition(text: &[u8]) -> Result<Partition, json::Error> {
    let mut p = Partition::default();
    for (name, raw) in json::members(text)? {
        match name.as_str() {
            "index" => p.index = json::from_slice(raw)?,
            "partition" => p.name = json::from_slice(raw)?,
            "status" => p.status = json::from_slice(raw)?,
            "result" => p.result = Some(raw.to_vec()),
            "result_base64" => {
                p.result = Some(base64(&json::from_slice::<String>(raw)?));
                p.binary = true;
            }
            "blob" => p.blob = json::from_slice(raw)?,
            "error" => p.error = json::from_slice(raw)?,
            _ => {}
        }
    }
    Ok(p)
}

impl FromJson for PartitionError {
    fn from_json(value: Value) -> Result<PartitionError, json::Error> {
        let mut m = Members::of(value)?;
        Ok(PartitionError {
            code: m.take_or("code", String::new)?,
            message: m.take_or("message", String::new)?,
            retryable: m.take_or("retryable", || false)?,
        })
    }
}

/// Decodes what the host has encoded.
fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut n) = (0u32, 0);
    for b in text.bytes() {
        let digit = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(digit);
        n += 6;
        if n >= 8 {
            n -= 8;
            out.push((bits >> n) as u8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64() {
        for (text, want) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")] {
            assert_eq!(super::base64(text), want.as_bytes());
        }
        assert_eq!(super::base64("+/8A"), [0xfb, 0xff, 0]);
    }
}
