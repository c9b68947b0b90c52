//! The guest of abi/abitest in Rust: what its package comment asks of every SDK language, one function per case. It is a test, and
//! a list of everything that the SDK can do.

use std::io::{Read, Write};
use std::time::Duration;

use taskrt::{abi, process, Behavior, Context, Error, HostError, Level, Signals, Time};

taskrt::export!(behaviors);

fn behaviors() -> Vec<Behavior> {
    vec![Behavior::raw("conformance", run).description("the conformance guest of ABI v1")]
}

/// Dispatches `CASE` or `CASE ARG`.
fn run(c: &mut Context) -> Result<(), Error> {
    let mut head = [0; 7]; // of params that may be more than fits in memory
    let n = c.params_reader().read_at(&mut head, 0)?;
    if matches!(&head[..n], b"pieces " | b"pieces") {
        return pieces(c);
    }
    let params = c.params();
    let (name, arg) = cut(&params);
    match std::str::from_utf8(name)? {
        "echo" => result(c, arg),
        "sum" => result(c, format!("{} {}", params.len(), sum(&params))),
        "empty" => Ok(()),
        "fill" => result(c, vec![b'x'; number(arg)? as usize]), // the SDK says too_big
        "fail-retry" => Err(Error::retryable(text(cut(arg).0)?, text(cut(arg).1)?)),
        "fail-permanent" => Err(Error::permanent(text(cut(arg).0)?, text(cut(arg).1)?)),
        "fail-plain" => Err(Error::new(text(arg)?)),
        "fail-details" => Err(Error::permanent("with_details", "see details").with_details(&Details { k: vec![1, 2] })),
        "beat" => beat(c, number(arg)?),
        "signals" => result(c, c.signals().bits().to_string()),
        "wait-cancel" => wait_cancel(c),
        "wait-drain" => wait_drain(c),
        "checkpoint" => {
            c.save_checkpoint(arg).map_err(refused)?;
            resume(c)
        }
        "resume" => resume(c),
        "log" => log(c),
        "stdout" => line(process::stdout(), arg),
        "stderr" => line(process::stderr(), arg),
        "clock" => {
            let (wall, left, mono) = (c.now().unix_millis(), c.remaining().as_millis(), c.elapsed().as_nanos());
            result(c, format!("{wall} {left} {mono}"))
        }
        "sleep" => {
            c.sleep(Duration::from_millis(number(arg)?));
            result(c, "slept")
        }
        "random" => {
            let mut bytes = vec![0; number(arg)? as usize];
            c.random(&mut bytes)?;
            result(c, bytes)
        }
        "info" => result(c, c.info().raw.clone()),
        "config" => result(c, c.config().unwrap_or_else(|| b"none".to_vec())),
        "yield" if arg.is_empty() => Err(Error::yield_now()),
        "yield" => Err(Error::yield_until(time(arg)?)),
        "again" => {
            c.run_again(time(arg)?);
            result(c, "again")
        }
        "later" => Err(Error::retryable("later", "later").retry_at(time(arg)?)),
        "panic" => panic!("{}", text(arg)?),
        "exit" => process::exit(number(arg)? as i32),
        "blob-size" => {
            let size = c.blob(text(arg)?).map_err(refused)?.size();
            result(c, size.to_string())
        }
        "blob-read" => blob_read(c, arg),
        "partitions" => call(c, abi::OP_PARTITIONS, arg),
        other => Err(Error::permanent("unknown_case", other)),
    }
}

taskrt::json_struct! {
    struct Details {
        k: Vec<i32>,
    }
}

fn result(c: &mut Context, r: impl Into<Vec<u8>>) -> Result<(), Error> {
    c.set_result(r);
    Ok(())
}

/// Splits at the first space.
fn cut(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|b| *b == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

fn text(arg: &[u8]) -> Result<&str, Error> {
    Ok(std::str::from_utf8(arg)?)
}

fn number(arg: &[u8]) -> Result<u64, Error> {
    Ok(text(arg)?.parse()?)
}

fn time(arg: &[u8]) -> Result<Time, Error> {
    Ok(Time::from_unix_millis(text(arg)?.parse()?))
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, b| sum.wrapping_add(u32::from(*b)))
}

/// The sum of params that may be more than fits in memory.
fn pieces(c: &mut Context) -> Result<(), Error> {
    let mut params = c.params_reader();
    let mut piece = [0; 4096];
    let (mut n, mut s) = (0, 0u32);
    loop {
        let got = params.read(&mut piece)?;
        if got == 0 {
            return result(c, format!("{n} {s}"));
        }
        n += got;
        s = s.wrapping_add(sum(&piece[..got]));
    }
}

fn beat(c: &mut Context, n: u64) -> Result<(), Error> {
    let mut all = Signals::NONE;
    for i in 1..=n {
        c.note(&format!("step {i}"));
        all |= c.heartbeat(i, n);
    }
    result(c, all.bits().to_string())
}

fn wait_cancel(c: &mut Context) -> Result<(), Error> {
    while !c.heartbeat(0, 0).cancelled() {}
    Err(Error::cancelled())
}

fn wait_drain(c: &mut Context) -> Result<(), Error> {
    while !c.heartbeat(0, 0).draining() {}
    c.save_checkpoint("drained")?;
    Err(Error::yield_now())
}

fn resume(c: &mut Context) -> Result<(), Error> {
    result(c, c.checkpoint().unwrap_or_else(|| b"none".to_vec()))
}

fn log(c: &Context) -> Result<(), Error> {
    c.log(Level::Trace, "a trace");
    c.log(Level::Debug, "a debug");
    c.log(Level::Info, "an info");
    c.log(Level::Warn, "a warn");
    c.log(Level::Error, "an error");
    Ok(())
}

fn line(mut to: impl Write, arg: &[u8]) -> Result<(), Error> {
    let mut line = arg.to_vec();
    line.push(b'\n');
    Ok(to.write_all(&line)?)
}

/// `OFFSET N NAME`, in one request.
fn blob_read(c: &mut Context, arg: &[u8]) -> Result<(), Error> {
    let (offset, rest) = cut(arg);
    let (n, name) = cut(rest);
    let mut request = name.to_vec();
    request.extend_from_slice(&number(offset)?.to_le_bytes());
    request.extend_from_slice(&(number(n)? as u32).to_le_bytes());
    call(c, abi::OP_BLOB_READ, &request)
}

fn call(c: &mut Context, op: i32, payload: &[u8]) -> Result<(), Error> {
    let response = c.call(op, payload).map_err(refused)?;
    result(c, response)
}

/// Undoes what the SDK makes of the ABI's numbers, which the suite asks for.
fn refused(e: HostError) -> Error {
    Error::permanent(format!("errno_{}", -e.status()), e.to_string())
}
