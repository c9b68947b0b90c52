use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::{write_string, Error, ObjectWriter, Value};

/// A type that is written as JSON.
pub trait ToJson {
    /// Appends one JSON value, without space.
    fn write_json(&self, out: &mut String);

    /// Whether a struct leaves out a member of this value: `None` says yes.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A type that is read from JSON.
pub trait FromJson: Sized {
    /// Reads a value; the error says what it must be.
    fn from_json(value: Value) -> Result<Self, Error>;

    /// What a member is that is not there; `None`: it must be there. An `Option` need not.
    fn absent() -> Option<Self> {
        None
    }
}

fn wrong<T>(want: &str, got: &Value) -> Result<T, Error> {
    Err(Error::shape(format!("must be {want}, not {}", got.kind())))
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Value, Error> {
        Ok(value)
    }
}

/// `null`.
impl ToJson for () {
    fn write_json(&self, out: &mut String) {
        out.push_str("null");
    }
}

/// `null`.
impl FromJson for () {
    fn from_json(value: Value) -> Result<(), Error> {
        match value {
            Value::Null => Ok(()),
            other => wrong("null", &other),
        }
    }
}

impl ToJson for bool {
    fn write_json(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<bool, Error> {
        value.as_bool().map_or_else(|| wrong("true or false", &value), Ok)
    }
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl ToJson for $t {
            fn write_json(&self, out: &mut String) {
                let _ = write!(out, "{self}"); // a String takes everything
            }
        }

        /// Also from `1.0` and `1e3`.
        impl FromJson for $t {
            fn from_json(value: Value) -> Result<$t, Error> {
                let n = match value {
                    Value::Int(n) => n,
                    Value::Float(n) if n.fract() == 0.0 && n.abs() <= EXACT => n as i64,
                    Value::Float(n) => return Err(Error::shape(format!("must be an integer, not {n:?}"))),
                    other => return wrong("an integer", &other),
                };
                <$t>::try_from(n).map_err(|_| Error::shape(format!("must be {} to {}, not {n}", <$t>::MIN, <$t>::MAX)))
            }
        }
    )* };
}

/// Up to here an f64 tells integers apart.
const EXACT: f64 = 9007199254740992.0;

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// With a fraction or an exponent, so that it is read as one; what is no number in JSON is `null`.
impl ToJson for f64 {
    fn write_json(&self, out: &mut String) {
        if self.is_finite() {
            let _ = write!(out, "{self:?}"); // a String takes everything
        } else {
            out.push_str("null");
        }
    }
}

impl FromJson for f64 {
    fn from_json(value: Value) -> Result<f64, Error> {
        value.as_f64().map_or_else(|| wrong("a number", &value), Ok)
    }
}

impl ToJson for str {
    fn write_json(&self, out: &mut String) {
        write_string(self, out);
    }
}

impl ToJson for String {
    fn write_json(&self, out: &mut String) {
        write_string(self, out);
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<String, Error> {
        match value {
            Value::String(s) => Ok(s),
            other => wrong("a string", &other),
        }
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write_json(&self, out: &mut String) {
        (**self).write_json(out);
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: ToJson + ?Sized> ToJson for Box<T> {
    fn write_json(&self, out: &mut String) {
        (**self).write_json(out);
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(value: Value) -> Result<Box<T>, Error> {
        T::from_json(value).map(Box::new)
    }

    fn absent() -> Option<Box<T>> {
        T::absent().map(Box::new)
    }
}

/// `None` is `null`, or not there.
impl<T: ToJson> ToJson for Option<T> {
    fn write_json(&self, out: &mut String) {
        match self {
            Some(v) => v.write_json(out),
            None => out.push_str("null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Option<T>, Error> {
        match value {
            Value::Null => Ok(None),
            v => T::from_json(v).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write_json(&self, out: &mut String) {
        out.push('[');
        for (i, v) in self.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            v.write_json(out);
        }
        out.push(']');
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    fn write_json(&self, out: &mut String) {
        self[..].write_json(out);
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write_json(&self, out: &mut String) {
        self[..].write_json(out);
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Vec<T>, Error> {
        match value {
            Value::Array(all) => all.into_iter().enumerate().map(|(i, v)| T::from_json(v).map_err(|e| e.at_index(i))).collect(),
            other => wrong("an array", &other),
        }
    }
}

impl<T: ToJson> ToJson for BTreeMap<String, T> {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        for (name, v) in self {
            v.write_json(w.name(name));
        }
        w.end();
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: Value) -> Result<BTreeMap<String, T>, Error> {
        entries(value)
    }
}

/// In the order of the names, so that equal maps are written alike.
impl<T: ToJson> ToJson for HashMap<String, T> {
    fn write_json(&self, out: &mut String) {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_by_key(|(name, _)| *name);
        let mut w = ObjectWriter::new(out);
        for (name, v) in all {
            v.write_json(w.name(name));
        }
        w.end();
    }
}

impl<T: FromJson> FromJson for HashMap<String, T> {
    fn from_json(value: Value) -> Result<HashMap<String, T>, Error> {
        entries(value)
    }
}

fn entries<T: FromJson, M: FromIterator<(String, T)>>(value: Value) -> Result<M, Error> {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, v)| match T::from_json(v) {
                Ok(v) => Ok((name, v)),
                Err(e) => Err(e.inside(&name)),
            })
            .collect(),
        other => wrong("an object", &other),
    }
}
