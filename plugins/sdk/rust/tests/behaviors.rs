//! Behaviors against the host in memory.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use taskrt::testing::{manifest, Outcome, Run, Task};
use taskrt::*;

/// Runs a raw behavior once.
fn raw(task: &mut Task, run: impl Fn(&mut Context) -> Result<(), Error> + 'static) -> Run {
    task.run(&[Behavior::raw("raw", run)], "raw")
}

fn fails(e: impl Fn() -> Error + 'static) -> Run {
    raw(&mut Task::default(), move |_| Err(e()))
}

#[test]
fn typed_params_and_result() {
    fn double(_: &mut Context, n: Vec<i64>) -> Result<Vec<i64>, Error> {
        Ok(n.into_iter().map(|n| n * 2).collect())
    }
    let behaviors = [Behavior::new("double", double)];
    assert_eq!(Task::new("[1,2]").run(&behaviors, "double").result(), "[2,4]");
    for (params, message) in [
        ("[1,", "JSON: unexpected end at byte 3 (line 1, column 4)"),
        ("[1,true]", "JSON: [1]: must be an integer, not a boolean"),
        ("", "JSON: must be an array, not an object"),
    ] {
        let r = Task::new(params).run(&behaviors, "double");
        assert_eq!((r.outcome, r.code.as_str(), r.message.as_str(), r.result), (Outcome::Permanent, "bad_params", message, None));
    }
}

json_struct! {
    struct Lenient {
        n: i64 = 7,
    }
}

#[test]
fn no_params() {
    let defaults = Behavior::new("defaults", |_: &mut Context, p: Lenient| Ok(p.n));
    assert_eq!(Task::default().run(&[defaults], "defaults").result(), "7");
    let optional = Behavior::new("optional", |_: &mut Context, p: Option<Lenient>| Ok(p.is_none()));
    assert_eq!(Task::default().run(&[optional], "optional").result(), "true");
}

#[test]
fn results() {
    assert_eq!(raw(&mut Task::default(), |_| Ok(())).result, None);
    let r = raw(&mut Task::default(), |c| {
        c.set_result("first");
        c.set_result(b"\xff".to_vec());
        c.run_again(Time::from_unix_millis(5));
        Ok(())
    });
    assert_eq!((r.result, r.next_time), (Some(vec![0xff]), Some(Time::from_unix_millis(5))));
    let mut small = Task { max_result: 3, ..Task::default() };
    let r = raw(&mut small, |c| {
        c.set_result("four");
        Ok(())
    });
    assert_eq!((r.outcome, r.code.as_str(), r.result), (Outcome::Permanent, "too_big", None));
    assert_eq!(r.message, "the result of 4 bytes was refused: larger than the behavior's limit");
}

#[test]
fn failures() {
    let r = fails(|| Error::retryable("busy", "try later").with_details(&[1, 2]));
    assert_eq!((r.outcome, r.code.as_str(), r.message.as_str()), (Outcome::Retryable, "busy", "try later"));
    assert_eq!(r.details, json::Value::parse(b"[1,2]").ok());

    let r = fails(|| Error::retryable("busy", "later").into_permanent().context("asking").context("starting"));
    assert_eq!((r.outcome, r.code.as_str(), r.message.as_str()), (Outcome::Permanent, "busy", "starting: asking: later"));

    let r = fails(|| Error::permanent("busy", "later").retry_at(Time::from_unix_millis(9)));
    assert_eq!((r.outcome, r.next_time), (Outcome::Retryable, Some(Time::from_unix_millis(9))));

    let r = raw(&mut Task::default(), |c| {
        let n: i32 = "x".parse()?;
        c.set_result(n.to_string());
        Ok(())
    });
    assert_eq!((r.outcome, r.code.as_str(), r.message.as_str()), (Outcome::Retryable, "", "invalid digit found in string"));

    let r = raw(&mut Task::default(), |_| panic!("the reason"));
    assert_eq!((r.outcome, r.message.as_str()), (Outcome::Retryable, "panic: the reason"));

    assert_eq!(fails(Error::cancelled).outcome, Outcome::Cancelled);
    assert_eq!(fails(Error::cancelled).message, "");
    let r = fails(Error::yield_now);
    assert_eq!((r.outcome, r.next_time), (Outcome::Yield, None));
    let r = fails(|| Error::yield_until(Time::from_unix_millis(i64::MAX)));
    assert_eq!((r.outcome, r.next_time), (Outcome::Yield, Some(Time::from_unix_millis(i64::MAX))));
}

#[test]
fn long_errors_are_cut() {
    let r = fails(|| Error::permanent("long", "é".repeat(5000)));
    assert_eq!(r.message, "é".repeat(2048));
    let r = fails(|| Error::permanent("long", "é".repeat(5000)).with_details(&"x".repeat(20_000)));
    assert_eq!((r.code.as_str(), r.message, r.details), ("long", "é".repeat(128), None));
}

#[test]
fn details_are_always_json() {
    struct Broken;
    impl json::ToJson for Broken {
        fn write_json(&self, out: &mut String) {
            out.push_str("{broken");
        }
    }
    let r = fails(|| Error::new("x").with_details(&Broken));
    assert_eq!(r.details, Some(json::Value::String("{broken".to_string())));
}

#[test]
fn checkpoints_signals_and_time() {
    let count = |c: &mut Context| {
        let mut done: u64 = c.checkpoint_json().unwrap_or(0);
        while done < 5 {
            done += 1;
            c.note(&format!("step {done}"));
            let signals = c.heartbeat(done, 5);
            if signals.cancelled() {
                return Err(Error::cancelled());
            }
            if signals.draining() {
                c.save_checkpoint_json(&done)?;
                return Err(Error::yield_now());
            }
        }
        c.set_result(format!("{} {}", c.elapsed().as_millis(), c.remaining().as_millis()));
        Ok(())
    };
    let mut task = Task { beat_takes: Duration::from_millis(10), timeout: Duration::from_secs(1), ..Task::default() };
    task.signal_at_beat(2, Signals::DRAINING);
    assert_eq!(raw(&mut task, count).outcome, Outcome::Yield);
    assert_eq!(task.checkpoint.as_deref(), Some(&b"2"[..]));
    assert_eq!(raw(&mut task, count).result(), "30 970");
    assert_eq!(task.beats, (1..=5).map(|n| (n, 5)).collect::<Vec<_>>());
    assert_eq!((task.notes.len(), task.notes[4].as_str(), task.info.attempt), (5, "step 5", 2));

    let mut task = Task::default();
    task.signal_at_beat(1, Signals::LEASE_LOST | Signals::DEADLINE_NEAR);
    assert_eq!(raw(&mut task, count).outcome, Outcome::Cancelled);

    let mut task = Task::default();
    task.signal_at_beat(1, Signals::DRAINING);
    task.on_save = Some(Box::new(|_| Err(HostError::Unavailable)));
    let r = raw(&mut task, count);
    assert_eq!((r.outcome, r.message.as_str()), (Outcome::Retryable, "not possible now; try again later"));

    let mut task = Task { checkpoint: Some(b"of another version".to_vec()), ..Task::default() };
    assert_eq!(raw(&mut task, count).outcome, Outcome::Ok);
}

#[test]
fn sleep_moves_the_clock() {
    let r = raw(&mut Task::default(), |c| {
        let (from, until) = (c.now(), c.deadline());
        c.sleep(Duration::from_millis(1500));
        assert_eq!((c.now() - from, c.deadline()), (Duration::from_millis(1500), until));
        assert_eq!(from - c.now(), Duration::ZERO);
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok, "{r:?}");
}

#[test]
fn info_config_log_random() {
    let mut task = Task { config: Some(b"{}".to_vec()), ..Task::default() };
    task.info.labels.insert("team".to_string(), "a".to_string());
    task.info.deadline = Some(Time::from_unix_millis(77));
    let r = raw(&mut task, |c| {
        let info = c.info();
        assert_eq!((info.id.as_str(), info.behavior.as_str(), info.attempt, info.token), ("test-task", "raw", 1, 1));
        assert_eq!((info.labels["team"].as_str(), info.deadline, info.created), ("a", Some(Time::from_unix_millis(77)), None));
        assert_eq!(c.config().as_deref(), Some(&b"{}"[..]));
        c.log(Level::Warn, format_args!("{} left", 3));
        let mut bytes = vec![0; 70_000];
        c.random(&mut bytes)?;
        assert!(bytes[69_000..].iter().any(|b| *b != 0) && bytes[..100] != bytes[65_536..65_636]);
        assert_eq!(c.call(4711, b""), Err(HostError::Unsupported));
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok, "{r:?}");
    assert_eq!(task.logs, [(3, "3 left".to_string())]);
}

#[test]
fn readers() {
    let name = format!("sha256:{}", "00".repeat(32));
    let big: Vec<u8> = (0..(2 << 20) + 5).map(|i| (i % 251) as u8).collect();
    let mut task = Task::new("0123456789");
    task.blobs.insert(name.clone(), big.clone());
    let r = raw(&mut task, move |c| {
        let mut all = Vec::new();
        let mut blob = c.blob(&name)?;
        assert_eq!(blob.size(), big.len() as u64);
        blob.read_to_end(&mut all)?;
        assert!(all == big);
        assert_eq!(c.blob("sha256:00").unwrap_err(), HostError::Invalid);
        assert_eq!(c.blob(&name.replace('0', "1")).unwrap_err(), HostError::NotFound);

        let mut params = c.params_reader();
        let mut four = [0; 4];
        assert_eq!(
            (params.read_at(&mut four, 8)?, params.read_at(&mut four, 10)?, params.read_at(&mut four, u64::MAX)?),
            (2, 0, 0)
        );
        assert_eq!(&four, b"89\0\0");
        assert_eq!(params.seek(SeekFrom::End(-3))?, 7);
        assert_eq!(params.seek(SeekFrom::Current(-1))?, 6);
        assert_eq!((params.read(&mut four)?, params.read(&mut four)?), (4, 0));
        assert!(params.seek(SeekFrom::Current(-11)).is_err() && params.seek(SeekFrom::End(5))? == 15);
        assert!(c.checkpoint_reader().is_none());
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok, "{r:?}");
}

#[test]
fn partitions() {
    let success = |i: u64| Partition {
        index: i,
        name: format!("p{i}"),
        status: "SUCCESS".into(),
        result: Some(b"1.50".to_vec()),
        ..Default::default()
    };
    let mut all: Vec<_> = (0..8).map(success).collect();
    for (i, bytes) in [&b""[..], b"\0", b"\xff>", b"a?b"].into_iter().enumerate() {
        all[1 + i].result = Some(bytes.to_vec());
        all[1 + i].binary = true;
    }
    all[5].result = None;
    all[5].blob = Some("sha256:…".to_string());
    all[7].result = None;
    all[7].status = "FAILURE".into();
    all[7].error = Some(PartitionError { code: "bad".into(), message: "row".into(), retryable: true });
    let mut task = Task { partitions: Some(all.clone()), ..Task::default() };
    let r = raw(&mut task, move |c| {
        assert_eq!(c.partitions(0).collect::<Result<Vec<_>, _>>()?, all);
        assert_eq!(c.partitions(6).map(|p| p.unwrap().index).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(c.partitions(100).count(), 0);
        assert_eq!(c.partitions(0).next().unwrap()?.json::<f64>()?, 1.5);
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok, "{r:?}");
    let r = raw(&mut Task::default(), |c| {
        assert_eq!(c.partitions(0).collect::<Vec<_>>(), [Err(HostError::Denied)]);
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok, "{r:?}");
}

#[test]
fn tasks_of_operations() {
    fn part(_: &mut Context, t: OperationTask) -> Result<Vec<String>, Error> {
        let n: i64 = t.arg()?;
        Ok(vec![
            t.operation,
            t.target,
            t.object,
            t.partition,
            format!("{n} {} {} {} {}", t.token, t.success, t.succeeded, t.failed),
        ])
    }
    let behaviors = [Behavior::new("part", part)];
    let run = |params: &str| Task::new(params).run(&behaviors, "part");
    let text = r#"{"operation":"o","target":"t","object":"b","arg":3,"partition":"p","later":[]}"#;
    assert_eq!(run(text).result(), r#"["o","t","b","p","3 0 false 0 0"]"#);
    let text = r#"{"operation":"o","arg":3,"token":5,"success":true,"counts":{"success":2,"failure":1,"other":0}}"#;
    assert_eq!(run(text).result(), r#"["o","","","","3 5 true 2 1"]"#);
    for (params, message) in [
        (r#"{"operation":"o","arg":"x"}"#, "JSON: arg: must be an integer, not a string"),
        (r#"{}"#, "JSON: this behavior runs in an operation: \"operation\" is missing"),
        (r#"{"operation":1}"#, "JSON: operation: must be a string, not an integer"),
        ("", "JSON: this behavior runs in an operation: \"operation\" is missing"),
    ] {
        let r = run(params);
        assert_eq!((r.code.as_str(), r.message.as_str()), ("bad_params", message));
    }
}

#[test]
fn several_behaviors() {
    let say = |text: &'static str| move |_: &mut Context, _: ()| Ok(text);
    let behaviors = || vec![Behavior::new("one", say("1")), Behavior::new("two", say("2"))];
    assert_eq!(Task::default().run(&behaviors(), "one").result(), "\"1\"");
    assert_eq!(Task::default().run(&behaviors(), "two").result(), "\"2\"");
    // A manifest given at upload may have another order: the name counts.
    let mut task = Task::default();
    task.info.behavior = "two".to_string();
    assert_eq!(task.run(&behaviors(), "one").result(), "\"2\"");
}

#[test]
fn manifests() {
    let run = |_: &mut Context| Ok(());
    assert_eq!(manifest(&[Behavior::raw("abc", run)]), r#"{"schema":1,"behaviors":[{"name":"abc"}]}"#);
    let all = Behavior::raw("all", run)
        .description("d")
        .id(Id::ParamsAt(vec!["/a".to_string()]))
        .retry(
            Retry::unlimited()
                .initial_interval(Duration::from_secs(1))
                .multiplier_thousandths(1500)
                .max_interval(Duration::from_secs(60))
                .jitter_percent(0),
        )
        .run_timeout(Duration::from_millis(1))
        .heartbeat_timeout(Duration::from_secs(2))
        .cancel_grace(Duration::from_secs(3))
        .repeat_every(Duration::from_micros(1500))
        .repeat_on_error()
        .limits(Limits { memory: 1, fuel: 2, params: 3, result: 4, checkpoint: 5, log: 6 })
        .operation(Operation {
            concurrency: OperationConcurrency::OnePerTarget,
            incompatible_with: vec!["xyz".to_string()],
            run_all: true,
            restart: true,
            complete: Some("done".to_string()),
            cleanup: Some("tidy".to_string()),
        })
        .on_trap(OnError::Fail)
        .on_timeout(OnError::Retry)
        .on_exhausted(OnError::Retry)
        .max_lost(7)
        .concurrency(Concurrency { max: 8, key: "/k".to_string(), per_key: 9, strict: true })
        .keep_success(Keep::Forever)
        .keep_failure(Keep::For(Duration::from_secs(3600)))
        .keep_count(10)
        .result_required()
        .params_schema(" {\"type\": \"object\"}\n")
        .result_schema("true");
    let want = r#"{"schema":1,"behaviors":[{"name":"all","description":"d","id":{"strategy":"params","from":["/a"]},
"retry":{"max_attempts":0,"initial_interval":"1000ms","multiplier_thousandths":1500,"max_interval":"60000ms","jitter_percent":0},
"run_timeout":"1ms","heartbeat_timeout":"2000ms","cancel_grace":"3000ms","repeat_every":"1500000ns","repeat_on":"any",
"limits":{"memory_bytes":1,"fuel":2,"params_bytes":3,"result_bytes":4,"checkpoint_bytes":5,"log_bytes":6},
"operation":{"concurrency":"one_per_target","incompatible_with":["xyz"],"on_failure":"run_all","resume":"restart","complete":"done","cleanup":"tidy"},
"on_trap":"fail","on_timeout":"retry","on_exhausted":"retry","max_lost":7,"max_concurrent":8,"concurrency_key":"/k","max_per_key":9,"key_order":"strict",
"retention":{"success":"never","failure":"3600000ms","count":10},"result":"required","params_schema":{"type": "object"},"result_schema":true}]}"#;
    assert_eq!(manifest(&[all]), want.replace('\n', ""));
}

#[test]
#[should_panic(expected = "a behavior's name is 3 to 128 of a-z0-9._-, not \"No\"")]
fn bad_name() {
    Behavior::raw("No", |_| Ok(()));
}

#[test]
#[should_panic(expected = "the behavior abc is there twice")]
fn repeated_name() {
    manifest(&[Behavior::raw("abc", |_| Ok(())), Behavior::raw("abc", |_| Ok(()))]);
}

#[test]
#[should_panic(expected = "abc: params_schema: JSON: unexpected end at byte 1")]
fn bad_schema() {
    manifest(&[Behavior::raw("abc", |_| Ok(())).params_schema("{")]);
}

#[test]
fn spans() {
    let mut task = Task::default();
    let r = raw(&mut task, |c| {
        let work = c.span("work", &[("file", "a\nb"), ("rows", "3")]);
        assert_eq!(c.span("part", &[]).fail("row 7\nis bad"), "row 7\nis bad");
        c.span("last", &[]).end();
        drop(c.span("x", &[("BAD KEY", "v")])); // refused: what is around it goes on
        c.span("", &[]).fail("");
        c.span(&"é".repeat(40), &[("v", &"x".repeat(300))]).end();
        std::mem::forget(c.span("open", &[]));
        std::mem::forget(work);
        Ok(())
    });
    assert_eq!(r.outcome, Outcome::Ok);
    let said: Vec<_> =
        task.spans.iter().map(|s| format!("{} {:?} {} {} {}", s.name, s.attributes, s.depth, s.ended, s.why)).collect();
    let long = format!("{} [\"v={}\"] 1 true ", "é".repeat(32), "x".repeat(256));
    let want = [
        r#"work ["file=a b", "rows=3"] 0 false "#,
        "part [] 1 true row 7 is bad",
        "last [] 1 true ",
        "span [] 1 true failed",
        &long,
        "open [] 1 false ",
    ];
    assert_eq!(said, want);
}
