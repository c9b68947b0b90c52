use std::collections::BTreeMap;

use super::{Error, FromJson, ObjectWriter, ToJson, Value};
use crate::abi;

/// The members of an object that are not read yet, for a [`FromJson`] by hand.
#[derive(Debug)]
pub struct Members(BTreeMap<String, Value>);

impl Members {
    /// The members of an object; anything else is an error.
    pub fn of(value: Value) -> Result<Members, Error> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            other => Err(Error::shape(format!("must be an object, not {}", other.kind()))),
        }
    }

    /// Reads a member. One that is not there is an error, unless the type says [what it then is](FromJson::absent).
    pub fn take<T: FromJson>(&mut self, name: &str) -> Result<T, Error> {
        match self.0.remove(name) {
            Some(v) => T::from_json(v).map_err(|e| e.inside(name)),
            None => T::absent().ok_or_else(|| Error::shape("is missing").inside(name)),
        }
    }

    /// Reads a member that need not be there.
    pub fn take_or<T: FromJson>(&mut self, name: &str, default: impl FnOnce() -> T) -> Result<T, Error> {
        if self.0.contains_key(name) {
            return self.take(name);
        }
        Ok(default())
    }

    /// Refuses members that were not read.
    pub fn end(self) -> Result<(), Error> {
        match self.0.keys().next() {
            Some(name) => Err(Error::shape("is unknown").inside(name)),
            None => Ok(()),
        }
    }
}

/// How JSON names a blob: `{"$blob": "sha256:…"}`. Make it a field of the params, and give its name to
/// [`Context::blob`](crate::Context::blob). A task keeps the blobs that its params, result and checkpoint name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobRef {
    /// `sha256:` and 64 lower-case hexadecimal digits.
    pub name: String,
}

impl ToJson for BlobRef {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        w.member(abi::BLOB_MEMBER, &self.name);
        w.end();
    }
}

impl FromJson for BlobRef {
    fn from_json(value: Value) -> Result<BlobRef, Error> {
        let mut members = Members::of(value)?;
        let name: String = members.take(abi::BLOB_MEMBER)?;
        members.end()?;
        if !is_blob_name(&name) {
            return Err(Error::shape("must be sha256: and 64 lower-case hexadecimal digits").inside(abi::BLOB_MEMBER));
        }
        Ok(BlobRef { name })
    }
}

pub(crate) fn is_blob_name(name: &str) -> bool {
    match name.strip_prefix(abi::BLOB_PREFIX) {
        Some(hex) => name.len() == abi::BLOB_NAME && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        None => false,
    }
}
