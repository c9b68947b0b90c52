//! What programs ask of an operating system, but asked of the host: standard output, the end of the process, sleeping.
//!
//! The target `wasm32-unknown-unknown` has no operating system: there `println!` prints nothing, `std::thread::sleep` and
//! `std::time::Instant` panic, and `std::process::exit` is a trap. The functions here work on this target, natively, and with `wasm32-wasi`.

use std::io;

/// Standard output: lines at level info of the task's log, which ends where [`Limits::log`](crate::Limits::log) is reached.
///
/// ```
/// use std::io::Write;
/// writeln!(taskrt::process::stdout(), "so far {}", 3).unwrap();
/// ```
pub fn stdout() -> Stream {
    Stream { error: false }
}

/// Standard error: lines at level warn of the task's log; the end of it is kept with an error.
pub fn stderr() -> Stream {
    Stream { error: true }
}

/// Standard output or error.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    error: bool,
}

impl io::Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(self.error, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn write(error: bool, bytes: &[u8]) -> io::Result<usize> {
    use io::Write;
    if error {
        io::stderr().write(bytes)
    } else {
        io::stdout().write(bytes)
    }
}

/// Ends the process, and with it the attempt. The outcome is a retryable failure `exit code N`; for 0 it is `NO_RESULT`, without a retry.
/// Returning an [`Error`](crate::Error) says more.
pub fn exit(code: i32) -> ! {
    end(code)
}

#[cfg(not(target_arch = "wasm32"))]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

#[cfg(target_arch = "wasm32")]
pub(crate) use wasi::sleep;
#[cfg(target_arch = "wasm32")]
use wasi::{end, write};

/// WASI preview 1: declared here because the standard library has it for target wasm32-wasi alone.
#[cfg(target_arch = "wasm32")]
mod wasi {
    use std::io;
    use std::time::Duration;

    #[repr(C)]
    struct Bytes {
        ptr: *const u8,
        len: usize,
    }

    #[repr(C)]
    struct Subscription {
        userdata: u64,
        tag: u64, // 0: a clock
        clock: u64,
        timeout: u64,
        precision: u64,
        flags: u64, // 0: relative
    }

    const MONOTONIC: u64 = 1;

    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        #[link_name = "fd_write"]
        fn fd_write(fd: i32, parts: *const Bytes, n: usize, written: *mut usize) -> i32;
        #[link_name = "proc_exit"]
        fn proc_exit(code: i32) -> !;
        #[link_name = "poll_oneoff"]
        fn poll_oneoff(what: *const Subscription, events: *mut [u64; 4], n: usize, ready: *mut usize) -> i32;
    }

    pub(super) fn write(error: bool, bytes: &[u8]) -> io::Result<usize> {
        let part = Bytes { ptr: bytes.as_ptr(), len: bytes.len() };
        let mut written = 0;
        // SAFETY: part is one pair of the slice's pointer and length; both live for the call.
        match unsafe { fd_write(if error { 2 } else { 1 }, &part, 1, &mut written) } {
            0 => Ok(written),
            _ => Err(io::Error::new(io::ErrorKind::Other, "fd_write")),
        }
    }

    pub(super) fn end(code: i32) -> ! {
        // SAFETY: it touches no memory.
        unsafe { proc_exit(code) }
    }

    pub(crate) fn sleep(time: Duration) {
        let timeout = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let what = Subscription { userdata: 0, tag: 0, clock: MONOTONIC, timeout, precision: 0, flags: 0 };
        let (mut event, mut ready) = ([0; 4], 0);
        // SAFETY: one subscription, and room for one event of 32 bytes; all live for the call.
        unsafe { poll_oneoff(&what, &mut event, 1, &mut ready) };
    }
}
