//! A guest for the tests of package sdk: behaviors that show what only a host can judge.

use std::time::Duration;

use taskrt::json::{ToJson, Value};
use taskrt::*;

taskrt::export!(behaviors);

fn behaviors() -> Vec<Behavior> {
    vec![
        Behavior::raw("json", json),
        Behavior::new("part", part).operation(Operation {
            concurrency: OperationConcurrency::OnePerObject,
            incompatible_with: vec!["json".to_string()],
            run_all: true,
            restart: true,
            complete: Some("done".to_string()),
            cleanup: Some("tidy".to_string()),
        }),
        Behavior::new("done", done),
        Behavior::new("tidy", tidy),
        every_policy(),
        Behavior::raw("spans", spans),
    ]
}

/// Params are texts, each behind its length as a little-endian u32. The result is an array with a `[VALUE]` for each text that is
/// JSON, and for each other one where it stops being JSON, in bytes.
fn json(c: &mut Context) -> Result<(), Error> {
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

/// A partition: the length of the blob that the argument names, or of the partition's name.
fn part(c: &mut Context, task: OperationTask) -> Result<u64, Error> {
    match task.arg::<Option<BlobRef>>()? {
        Some(blob) => Ok(c.blob(&blob.name)?.size()),
        None => Ok(task.partition.len() as u64),
    }
}

taskrt::json_struct! {
    struct Total {
        sum: u64,
        texts: Vec<String>,
        failed: Vec<String>,
        counts: Vec<u64>,
    }
}

/// The completion: what became of all partitions.
fn done(c: &mut Context, task: OperationTask) -> Result<Total, Error> {
    let mut total = Total { sum: 0, texts: Vec::new(), failed: Vec::new(), counts: vec![task.succeeded, task.failed] };
    for partition in c.partitions(0) {
        let p = partition?;
        match (&p.error, &p.result) {
            (Some(e), _) => total.failed.push(format!("{} {} {} {}", p.index, p.name, e.code, e.retryable)),
            (_, Some(text)) if p.binary => total.texts.push(format!("{text:?}")),
            _ => total.sum += p.json::<u64>()?,
        }
    }
    Ok(total)
}

/// The cleanup: what it tidies up.
fn tidy(c: &mut Context, task: OperationTask) -> Result<String, Error> {
    c.log(Level::Info, format_args!("tidying {}", task.partition));
    Ok(format!("{} {}", task.partition, task.token))
}

/// Spans, the last of them open.
fn spans(c: &mut Context) -> Result<(), Error> {
    let work = c.span("work", &[("file", "a\nb"), ("rows", "3")]);
    c.span("part", &[]).fail("row 7\nis bad");
    c.span("x", &[("BAD KEY", "v")]).end(); // nothing: what is around it goes on
    c.span("", &[]).fail("");
    c.span(&"x".repeat(99), &[]).end();
    work.end();
    std::mem::forget(c.span("open", &[]));
    Ok(())
}

fn every_policy() -> Behavior {
    Behavior::new("policy", |_: &mut Context, _: Value| Ok(()))
        .description("every \"field\" — of the manifest")
        .id(Id::ParamsAt(vec!["/a".to_string(), "/b/0".to_string()]))
        .retry(
            Retry::unlimited()
                .initial_interval(Duration::from_millis(1500))
                .multiplier_thousandths(1500)
                .max_interval(Duration::from_secs(90))
                .jitter_percent(0),
        )
        .run_timeout(Duration::from_secs(61))
        .heartbeat_timeout(Duration::from_secs(2))
        .cancel_grace(Duration::from_secs(3))
        .repeat_every(Duration::from_millis(100))
        .repeat_on_error()
        .limits(Limits { memory: 32 << 20, fuel: 1 << 53, params: 1, result: 2, checkpoint: 3, log: 4 })
        .concurrency(Concurrency { max: 8, key: "/k".to_string(), per_key: 9, strict: true })
        .on_trap(OnError::Fail)
        .on_timeout(OnError::Fail)
        .on_exhausted(OnError::Retry)
        .max_lost(7)
        .keep_success(Keep::Forever)
        .keep_failure(Keep::For(Duration::from_secs(3600)))
        .keep_count(10)
        .result_required()
        .params_schema(r#"{"type": "object"}"#)
        .result_schema("true")
}
