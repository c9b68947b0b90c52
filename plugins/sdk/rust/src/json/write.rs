use std::fmt::Write;

use super::{ToJson, Value};

impl ToJson for Value {
    fn write_json(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => b.write_json(out),
            Value::Int(n) => n.write_json(out),
            Value::Float(n) => n.write_json(out),
            Value::String(s) => write_string(s, out),
            Value::Array(all) => all.write_json(out),
            Value::Object(members) => members.write_json(out),
        }
    }
}

/// Writes a JSON string, quotes and all.
pub(crate) fn write_string(s: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, b) in s.bytes().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(&s[from..at]);
        from = at + 1;
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                let _ = write!(out, "\\u{b:04x}"); // a String takes everything
            }
        }
    }
    out.push_str(&s[from..]);
    out.push('"');
}

/// Writes an object member by member, for a [`ToJson`] by hand.
///
/// ```
/// let mut out = String::new();
/// let mut w = taskrt::json::ObjectWriter::new(&mut out);
/// w.member("n", &1);
/// w.member("s", "x");
/// w.end();
/// assert_eq!(out, r#"{"n":1,"s":"x"}"#);
/// ```
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Begins an object.
    pub fn new(out: &'a mut String) -> ObjectWriter<'a> {
        out.push('{');
        ObjectWriter { out, first: true }
    }

    /// Writes a member, unless the value is one that [is absent](ToJson::is_absent).
    pub fn member<T: ToJson + ?Sized>(&mut self, name: &str, value: &T) {
        if !value.is_absent() {
            value.write_json(self.name(name));
        }
    }

    /// Writes a member's name; what the value is to be written to.
    pub(crate) fn name(&mut self, name: &str) -> &mut String {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        write_string(name, self.out);
        self.out.push(':');
        self.out
    }

    /// Ends the object.
    pub fn end(self) {
        self.out.push('}');
    }
}
