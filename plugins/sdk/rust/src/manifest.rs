//! The manifest as JSON. What is not set is left out: the host fills in its defaults.

use std::time::Duration;

use crate::behavior::{Behavior, Id, Keep, Limits, OnError, Operation, OperationConcurrency, Policy, Retry};
use crate::json::{ObjectWriter, ToJson, Value};

/// # Panics
/// If a name is there twice, or a schema is no JSON: such a module cannot be uploaded.
pub(crate) fn manifest(behaviors: &[Behavior]) -> String {
    for (i, b) in behaviors.iter().enumerate() {
        let twice = behaviors[..i].iter().any(|other| other.name == b.name);
        assert!(!twice, "the behavior {} is there twice", b.name);
    }
    let mut out = String::new();
    let mut w = ObjectWriter::new(&mut out);
    w.member("schema", &1);
    w.member("behaviors", behaviors);
    w.end();
    out
}

impl ToJson for Behavior {
    fn write_json(&self, out: &mut String) {
        let p = &self.policy;
        let mut w = ObjectWriter::new(out);
        w.member("name", &self.name);
        w.member("description", &some(&p.description));
        w.member("id", &p.id);
        w.member("retry", &changed(&p.retry));
        durations(&mut w, p);
        w.member("limits", &changed(&p.limits));
        w.member("operation", &p.operation);
        w.member("on_trap", &p.on_trap);
        w.member("on_timeout", &p.on_timeout);
        w.member("on_exhausted", &p.on_exhausted);
        w.member("max_lost", &p.max_lost);
        w.member("max_concurrent", &positive(p.concurrency.max.into()));
        w.member("concurrency_key", &some(&p.concurrency.key));
        w.member("max_per_key", &positive(p.concurrency.per_key.into()));
        w.member("key_order", &p.concurrency.strict.then_some("strict"));
        if p.keep_success.is_some() || p.keep_failure.is_some() || p.keep_count.is_some() {
            let mut keep = ObjectWriter::new(w.name("retention"));
            keep.member("success", &p.keep_success);
            keep.member("failure", &p.keep_failure);
            keep.member("count", &p.keep_count);
            keep.end();
        }
        w.member("result", &p.result_required.then_some("required"));
        schema(&mut w, &self.name, "params_schema", p.params_schema.as_deref());
        schema(&mut w, &self.name, "result_schema", p.result_schema.as_deref());
        w.end();
    }
}

fn durations(w: &mut ObjectWriter<'_>, p: &Policy) {
    w.member("run_timeout", &p.run_timeout.map(go));
    w.member("heartbeat_timeout", &p.heartbeat_timeout.map(go));
    w.member("cancel_grace", &p.cancel_grace.map(go));
    w.member("repeat_every", &p.repeat_every.map(go));
    w.member("repeat_on", &p.repeat_on_error.then_some("any"));
}

/// A duration in Go's style. What is no whole number of milliseconds is written exactly, for the host to refuse.
fn go(d: Duration) -> String {
    if d.subsec_nanos() % 1_000_000 != 0 {
        return format!("{}ns", d.as_nanos());
    }
    format!("{}ms", d.as_millis())
}

/// Writes a schema as it is written.
fn schema(w: &mut ObjectWriter<'_>, behavior: &str, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        if let Err(e) = Value::parse(text.as_bytes()) {
            panic!("{behavior}: {name}: {e}");
        }
        w.name(name).push_str(text.trim());
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn positive(n: u64) -> Option<u64> {
    (n > 0).then_some(n)
}

fn changed<T: Default + PartialEq>(v: &T) -> Option<&T> {
    (*v != T::default()).then_some(v)
}

impl ToJson for Id {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        let strategy = match self {
            Id::Random => "random",
            Id::Params | Id::ParamsAt(_) => "params",
            Id::Caller => "caller",
        };
        w.member("strategy", strategy);
        if let Id::ParamsAt(from) = self {
            w.member("from", from);
        }
        w.end();
    }
}

impl ToJson for Retry {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        w.member("max_attempts", &self.max_attempts);
        w.member("initial_interval", &self.initial_interval.map(go));
        w.member("multiplier_thousandths", &self.multiplier_thousandths);
        w.member("max_interval", &self.max_interval.map(go));
        w.member("jitter_percent", &self.jitter_percent);
        w.end();
    }
}

impl ToJson for Limits {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        w.member("memory_bytes", &positive(self.memory));
        w.member("fuel", &positive(self.fuel));
        w.member("params_bytes", &positive(self.params));
        w.member("result_bytes", &positive(self.result));
        w.member("checkpoint_bytes", &positive(self.checkpoint));
        w.member("log_bytes", &positive(self.log));
        w.end();
    }
}

impl ToJson for Operation {
    fn write_json(&self, out: &mut String) {
        let mut w = ObjectWriter::new(out);
        let concurrency = match self.concurrency {
            OperationConcurrency::Many => None,
            OperationConcurrency::OnePerTarget => Some("one_per_target"),
            OperationConcurrency::OnePerObject => Some("one_per_object"),
        };
        w.member("concurrency", &concurrency);
        w.member("incompatible_with", &changed(&self.incompatible_with));
        w.member("on_failure", &self.run_all.then_some("run_all"));
        w.member("resume", &self.restart.then_some("restart"));
        w.member("complete", &self.complete);
        w.member("cleanup", &self.cleanup);
        w.end();
    }
}

impl ToJson for OnError {
    fn write_json(&self, out: &mut String) {
        match self {
            OnError::Retry => "retry".write_json(out),
            OnError::Fail => "fail".write_json(out),
        }
    }
}

impl ToJson for Keep {
    fn write_json(&self, out: &mut String) {
        match self {
            Keep::For(d) => go(*d).write_json(out),
            Keep::Forever => "never".write_json(out),
        }
    }
}
