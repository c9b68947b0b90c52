//! Counts words: `{"text":"a b a"}` → `{"words":{"a":2,"b":1},"total":3}`. A word is what stands between characters that are neither
//! letters nor digits of any script; case is kept. Equal texts share one task.

mod letters;

use std::collections::BTreeMap;
use std::time::Duration;

use letters::is_letter_or_digit;
use taskrt::json::Value;
use taskrt::{Behavior, Context, Error, Id};

taskrt::export!(behaviors);

fn behaviors() -> Vec<Behavior> {
    vec![Behavior::new("wordcount", wordcount)
        .description(r#"counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}"#)
        .id(Id::Params)
        .run_timeout(Duration::from_secs(60))]
}

taskrt::json_struct! {
    #[derive(Default)]
    struct Counts {
        words: BTreeMap<String, u64>, // in order, so that equal counts give equal bytes
        total: u64,
    }
}

fn wordcount(_: &mut Context, params: Value) -> Result<Counts, Error> {
    let text = params.get("text").and_then(Value::as_str);
    let text = text.ok_or_else(|| Error::bad_params(r#"params must be {"text":"…"}"#))?;
    let mut counts = Counts::default();
    for word in text.split(|c| !is_letter_or_digit(c)).filter(|word| !word.is_empty()) {
        counts.total += 1;
        match counts.words.get_mut(word) {
            Some(n) => *n += 1,
            None => drop(counts.words.insert(word.to_string(), 1)),
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use taskrt::testing::{Outcome, Task};

    use super::*;

    #[test]
    fn counts() {
        for (params, want) in [
            (r#"{"text":"a b a"}"#, r#"{"words":{"a":2,"b":1},"total":3}"#),
            (r#"{"text":""}"#, r#"{"words":{},"total":0}"#),
            (r#"{"text":"Go go, GO!"}"#, r#"{"words":{"GO":1,"Go":1,"go":1},"total":3}"#),
            (r#"{"text":"\u00e9t\u00e9 été 北京—北京"}"#, r#"{"words":{"été":2,"北京":2},"total":4}"#),
            (r#"{"text":"b\ud800a"}"#, r#"{"words":{"a":1,"b":1},"total":2}"#),
        ] {
            let run = Task::new(params).run(&behaviors(), "wordcount");
            assert_eq!(run.result(), want, "{params}");
        }
    }

    #[test]
    fn bad_params() {
        for params in ["", "null", "{}", r#"{"text":1}"#, r#""a b a""#, "{"] {
            let run = Task::new(params).run(&behaviors(), "wordcount");
            assert_eq!((run.outcome, run.code.as_str()), (Outcome::Permanent, "bad_params"), "{params}");
        }
    }
}
