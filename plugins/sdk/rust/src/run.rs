//! The exports: an attempt, and the manifest.

use std::any::Any;
use std::rc::Rc;

use crate::abi;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::error::{Ending, Error, Failure, HostError};
use crate::host::Host;
use crate::json::{write_string, ObjectWriter, Value};
use crate::manifest::manifest;
use crate::time::Time;

/// One attempt of the behavior with that index.
pub(crate) fn run(host: Rc<dyn Host>, behaviors: &[Behavior], index: i32) -> i32 {
    let mut c = Context::new(host);
    let ended = match pick(&c, behaviors, index) {
        Some(b) => protect(&mut c, b),
        None => Err(Error::permanent("unknown_behavior", format!("this module has no behavior number {index}"))),
    };
    match ended {
        Ok(()) => succeed(&c),
        Err(e) => finish(&c, *e.0),
    }
}

/// The index is the behavior's place in the manifest; where a module has several, the task's own word for it goes first, because a
/// manifest given at upload may list them in another order.
fn pick<'a>(c: &Context, behaviors: &'a [Behavior], index: i32) -> Option<&'a Behavior> {
    if behaviors.len() > 1 {
        if let Some(b) = behaviors.iter().find(|b| b.name == c.info().behavior) {
            return Some(b);
        }
    }
    behaviors.get(usize::try_from(index).ok()?)
}

/// A panic of a guest is a trap, which the host sees, with what the panic said on standard error.
#[cfg(target_arch = "wasm32")]
fn protect(c: &mut Context, b: &Behavior) -> Result<(), Error> {
    (b.run)(c)
}

/// A panic of a native test is a retryable failure, as the trap that it would be.
#[cfg(not(target_arch = "wasm32"))]
fn protect(c: &mut Context, b: &Behavior) -> Result<(), Error> {
    use std::panic::{catch_unwind, AssertUnwindSafe};
    catch_unwind(AssertUnwindSafe(|| (b.run)(c))).unwrap_or_else(|panic| Err(Error::new(format!("panic: {}", said(&*panic)))))
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a value of another type",
    }
}

fn succeed(c: &Context) -> i32 {
    write_time(c, c.again);
    let result = match &c.result {
        Some(result) => result,
        None => return abi::OK,
    };
    if let Err(e) = HostError::check(c.host.write(abi::RESULT, result)) {
        let message = format!("the result of {} bytes was refused: {e}", result.len());
        write_error(c, &Failure { code: "too_big".to_string(), message, ..Failure::default() });
        return abi::PERMANENT;
    }
    abi::OK
}

fn finish(c: &Context, ending: Ending) -> i32 {
    match ending {
        Ending::Cancelled => abi::CANCELLED,
        Ending::Yield(at) => {
            write_time(c, at);
            abi::YIELD
        }
        Ending::Failed(f) => {
            write_time(c, f.at);
            write_error(c, &f);
            if f.retryable {
                abi::RETRYABLE
            } else {
                abi::PERMANENT
            }
        }
    }
}

fn write_time(c: &Context, at: Option<Time>) {
    if let Some(at) = at {
        c.host.write(abi::NEXT_TIME, at.unix_millis().to_string().as_bytes());
    }
}

/// Bounds an error's message; the rest belongs in the log.
const MAX_MESSAGE: usize = 4 << 10;

/// Writes `{"code","message","details"}`; if the host finds that too big, the start of the message alone.
fn write_error(c: &Context, f: &Failure) {
    let whole = detail(&f.code, clip(&f.message, MAX_MESSAGE), f.details.as_deref());
    if c.host.write(abi::ERROR_DETAIL, whole.as_bytes()) == abi::E2BIG {
        c.host.write(abi::ERROR_DETAIL, detail(&f.code, clip(&f.message, 256), None).as_bytes());
    }
}

fn detail(code: &str, message: &str, details: Option<&str>) -> String {
    let mut out = String::new();
    let mut w = ObjectWriter::new(&mut out);
    if !code.is_empty() {
        w.member("code", code);
    }
    w.member("message", message);
    if let Some(details) = details {
        let to = w.name("details");
        // A ToJson by hand may have written anything.
        match Value::parse(details.as_bytes()) {
            Ok(_) => to.push_str(details),
            Err(_) => write_string(details, to),
        }
    }
    w.end();
    out
}

/// Cuts text to at most n bytes, between characters.
fn clip(text: &str, mut n: usize) -> &str {
    if text.len() <= n {
        return text;
    }
    while !text.is_char_boundary(n) {
        n -= 1;
    }
    &text[..n]
}

/// Writes the manifest.
#[cfg(target_arch = "wasm32")]
pub(crate) fn describe(host: &dyn Host, behaviors: &[Behavior]) {
    if let Err(e) = HostError::check(host.write(abi::MANIFEST, manifest(behaviors).as_bytes())) {
        panic!("the manifest was refused: {e}");
    }
}

/// The manifest, as a native test sees it.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn describe(behaviors: &[Behavior]) -> String {
    manifest(behaviors)
}

/// What [`export!`](crate::export) calls.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod exports {
    use std::io::Write;

    use super::*;
    use crate::host::Imports;

    pub fn run(behaviors: fn() -> Vec<Behavior>, index: i32) -> i32 {
        report_panics();
        super::run(Rc::new(Imports), &behaviors(), index)
    }

    pub fn describe(behaviors: fn() -> Vec<Behavior>) {
        report_panics();
        super::describe(&Imports, &behaviors());
    }

    /// Says on standard error what a panic said: the host keeps that with the trap, and makes the line the error's message.
    fn report_panics() {
        std::panic::set_hook(Box::new(|panic| {
            let at = panic.location().map_or(String::new(), |at| format!(" at {at}"));
            let line = format!("panicked{at}: {}\n", said(panic.payload()));
            let _ = crate::process::stderr().write_all(line.as_bytes()); // there is nobody else to tell
        }));
    }
}
