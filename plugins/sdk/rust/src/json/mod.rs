//! JSON, strictly as RFC 8259 says: [`Value`], texts to and from it, and types that are read and written as JSON.
//!
//! [`json_struct!`](crate::json_struct) makes the two traits for plain structs.
//!
//! ```
//! use taskrt::json::{self, Value};
//!
//! let v = Value::parse(br#"{"rows": [1, 2.5, "x"]}"#).unwrap();
//! assert_eq!(v.get("rows").and_then(|rows| rows.at(1)), Some(&Value::Float(2.5)));
//! assert_eq!(json::to_string(&v), r#"{"rows":[1,2.5,"x"]}"#);
//!
//! let e = Value::parse(b"[1,\n 02]").unwrap_err();
//! assert_eq!(e.to_string(), "JSON: a number begins with 0 at byte 6 (line 2, column 3)");
//! ```

mod convert;
mod error;
mod macros;
mod members;
mod parse;
mod value;
mod write;

pub use convert::{FromJson, ToJson};
pub use error::Error;
pub(crate) use members::is_blob_name;
pub use members::{BlobRef, Members};
pub use parse::MAX_DEPTH;
pub(crate) use parse::{elements, members};
pub use value::Value;
pub(crate) use write::write_string;
pub use write::ObjectWriter;

/// Reads a JSON text as a `T`.
pub fn from_slice<T: FromJson>(text: &[u8]) -> Result<T, Error> {
    T::from_json(Value::parse(text)?)
}

/// Writes JSON without space.
pub fn to_string<T: ToJson + ?Sized>(value: &T) -> String {
    let mut out = String::new();
    value.write_json(&mut out);
    out
}

/// The member of a field that has a keyword for a name.
#[doc(hidden)]
pub fn field_name(ident: &'static str) -> &'static str {
    ident.strip_prefix("r#").unwrap_or(ident)
}
