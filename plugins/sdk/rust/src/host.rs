//! The seam between the SDK and what runs it: the functions of the ABI with slices for (pointer, length), and sleeping. In a
//! guest they are wasm imports; in native tests they are module `testing`.

use std::time::Duration;

use crate::abi;
use crate::error::HostError;

/// One attempt's view of the host. Negative answers are statuses.
pub(crate) trait Host {
    fn len(&self, channel: i32) -> i32;
    fn read(&self, channel: i32, offset: u32, to: &mut [u8]) -> i32;
    fn write(&self, channel: i32, from: &[u8]) -> i32;
    fn log(&self, level: i32, message: &[u8]);
    fn beat(&self, done: i64, total: i64) -> i32;
    fn signals(&self) -> i32;
    fn clock(&self, id: i32) -> i64;
    fn call(&self, op: i32, payload: &[u8]) -> i32;
    fn sleep(&self, time: Duration);
}

/// Reads an input channel; `None` if it has nothing in it.
pub(crate) fn read_all(host: &dyn Host, channel: i32) -> Option<Vec<u8>> {
    let size = host.len(channel);
    if size < 0 {
        return None;
    }
    let mut all = vec![0; size as usize];
    let mut at = 0;
    while at < all.len() {
        let got = host.read(channel, at as u32, &mut all[at..]);
        assert!(got > 0, "the host announced bytes that it does not give");
        at += got as usize;
    }
    Some(all)
}

/// Makes a request whose response has a known place.
pub(crate) fn call_into(host: &dyn Host, op: i32, payload: &[u8], to: &mut [u8]) -> Result<usize, HostError> {
    let size = HostError::check(host.call(op, payload))?;
    if size > to.len() {
        return Err(HostError::Invalid);
    }
    let got = host.read(abi::RESPONSE, 0, &mut to[..size]);
    if got < 0 || got as usize != size {
        return Err(HostError::Invalid);
    }
    Ok(size)
}

#[cfg(target_arch = "wasm32")]
pub(crate) use imports::Imports;

#[cfg(target_arch = "wasm32")]
mod imports {
    use super::*;

    // The host copies before a function returns: a pointer need only live for the call.
    #[link(wasm_import_module = "taskrt_v1")]
    extern "C" {
        #[link_name = "len"]
        fn host_len(channel: i32) -> i32;
        #[link_name = "read"]
        fn host_read(channel: i32, to: *mut u8, offset: u32, n: usize) -> i32;
        #[link_name = "write"]
        fn host_write(channel: i32, from: *const u8, n: usize) -> i32;
        #[link_name = "log"]
        fn host_log(level: i32, message: *const u8, n: usize);
        #[link_name = "beat"]
        fn host_beat(done: i64, total: i64) -> i32;
        #[link_name = "signals"]
        fn host_signals() -> i32;
        #[link_name = "clock"]
        fn host_clock(id: i32) -> i64;
        #[link_name = "call"]
        fn host_call(op: i32, payload: *const u8, n: usize) -> i32;
    }

    /// The host of a guest.
    pub(crate) struct Imports;

    // SAFETY of all: the host reads or writes within the slice whose pointer and length it is given, during the call.
    impl Host for Imports {
        fn len(&self, channel: i32) -> i32 {
            unsafe { host_len(channel) }
        }
        fn read(&self, channel: i32, offset: u32, to: &mut [u8]) -> i32 {
            unsafe { host_read(channel, to.as_mut_ptr(), offset, to.len()) }
        }
        fn write(&self, channel: i32, from: &[u8]) -> i32 {
            unsafe { host_write(channel, from.as_ptr(), from.len()) }
        }
        fn log(&self, level: i32, message: &[u8]) {
            unsafe { host_log(level, message.as_ptr(), message.len()) }
        }
        fn beat(&self, done: i64, total: i64) -> i32 {
            unsafe { host_beat(done, total) }
        }
        fn signals(&self) -> i32 {
            unsafe { host_signals() }
        }
        fn clock(&self, id: i32) -> i64 {
            unsafe { host_clock(id) }
        }
        fn call(&self, op: i32, payload: &[u8]) -> i32 {
            unsafe { host_call(op, payload.as_ptr(), payload.len()) }
        }
        fn sleep(&self, time: Duration) {
            crate::process::sleep(time);
        }
    }
}
