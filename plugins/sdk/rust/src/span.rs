use std::fmt;
use std::rc::Rc;

use crate::abi;
use crate::context::Context;
use crate::host::Host;

const MAX_NAME: usize = 64;
const MAX_TEXT: usize = 256;
const MAX_ATTRIBUTES: usize = 8;

/// A span of the plugin's own, which stands in the trace of its attempt. It ends when it is dropped.
#[must_use = "a span that is dropped ends"]
pub struct Span {
    host: Option<Rc<dyn Host>>,
}

impl Context {
    /// Begins a span inside the one that was begun last and has not ended. A key is of `[a-z0-9_.-]`. Text that is too long is cut, what
    /// cannot be printed becomes a space, and of attributes the first eight count. It is cheap if nobody wants the trace. A host that knows
    /// no spans, or has too many open, shows none.
    ///
    /// ```
    /// # use taskrt::Context;
    /// # fn rows(_: &str) -> Result<u32, String> { Ok(1) }
    /// # fn f(c: &Context, file: &str) -> Result<u32, String> {
    /// let span = c.span("parse", &[("file", file)]);
    /// rows(file).map_err(|e| span.fail(e)) // else it ends here
    /// # }
    /// ```
    pub fn span(&self, name: &str, attributes: &[(&str, &str)]) -> Span {
        let mut payload = cut(name, MAX_NAME);
        if payload.is_empty() {
            payload.push_str("span");
        }
        for (key, value) in attributes.iter().take(MAX_ATTRIBUTES) {
            payload.push('\n');
            payload.push_str(key);
            payload.push('=');
            payload.push_str(&cut(value, MAX_TEXT));
        }
        let begun = self.host.call(abi::OP_SPAN_BEGIN, payload.as_bytes()) >= 0;
        Span { host: begun.then(|| self.host.clone()) }
    }
}

impl Span {
    /// Ends the span. Spans end in the opposite order of their beginning.
    pub fn end(self) {}

    /// Ends the span and says why what it is about failed. It gives the reason back.
    pub fn fail<E: fmt::Display>(mut self, why: E) -> E {
        let text = cut(&why.to_string(), MAX_TEXT);
        self.over(if text.is_empty() { "failed" } else { &text });
        why
    }

    fn over(&mut self, why: &str) {
        if let Some(host) = self.host.take() {
            host.call(abi::OP_SPAN_END, why.as_bytes()); // a span says nothing of the outcome
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.over("");
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span").field("open", &self.host.is_some()).finish()
    }
}

/// Makes text that the host takes, of at most so many bytes.
fn cut(text: &str, most: usize) -> String {
    let mut to = String::new();
    for c in text.chars() {
        let c = if c.is_control() { ' ' } else { c };
        if to.len() + c.len_utf8() > most {
            break;
        }
        to.push(c);
    }
    to
}
