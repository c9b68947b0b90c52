//! A guest that reads JSON texts and says what it read, for the test that compares it with Go's encoding/json.

use taskrt::json::{ToJson, Value};
use taskrt::{Behavior, Context, Error};

taskrt::export!(behaviors);

fn behaviors() -> Vec<Behavior> {
    vec![Behavior::raw("json", run)]
}

/// Params are texts, each behind its length as a little-endian u32. The result is an array with a `[VALUE]` for each text that is
/// JSON, and for each other one where it stops being JSON, in bytes.
fn run(c: &mut Context) -> Result<(), Error> {
    let params = c.params();
    let mut rest = params.as_slice();
    let mut out = String::from("[");
    while let [a, b, c, d, behind @ ..] = rest {
        let (text, next) = behind.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        rest = next;
        if out.len() > 1 {
            out.push(',');
        }
        match Value::parse(text) {
            Ok(value) => [value].write_json(&mut out),
            Err(e) => e.offset().write_json(&mut out),
        }
    }
    out.push(']');
    c.set_result(out);
    Ok(())
}
