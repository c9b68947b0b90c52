//! This crate is for writing [taskrt](https://github.com/taskrt/taskrt) plugins in Rust: WebAssembly modules whose behaviors a taskrt
//! cluster runs.
//!
//! ```
//! use taskrt::{Behavior, Context, Error, Id, Level, Retry};
//!
//! taskrt::export!(behaviors);
//!
//! fn behaviors() -> Vec<Behavior> {
//!     vec![Behavior::new("greet", greet).id(Id::Params).retry(Retry::attempts(5))]
//! }
//!
//! taskrt::json_struct! {
//!     struct Params {
//!         name: String,
//!     }
//!
//!     struct Greeting {
//!         greeting: String,
//!     }
//! }
//!
//! fn greet(c: &mut Context, p: Params) -> Result<Greeting, Error> {
//!     if p.name.is_empty() {
//!         return Err(Error::permanent("no_name", "nobody to greet"));
//!     }
//!     c.log(Level::Info, format_args!("greeting {}", p.name));
//!     Ok(Greeting { greeting: format!("Hello, {}!", p.name) })
//! }
//!
//! let mut task = taskrt::testing::Task::new(r#"{"name":"Ada"}"#);
//! assert_eq!(task.run(&behaviors(), "greet").result(), r#"{"greeting":"Hello, Ada!"}"#);
//! ```
//!
//! A plugin is a crate of type `cdylib`, built for the target `wasm32-unknown-unknown`:
//!
//! ```sh
//! cargo build --release --target wasm32-unknown-unknown
//! ```
//!
//! Every attempt runs in fresh memory: statics carry nothing from one task to the next. There are no files, no network and no
//! environment; module [`process`] has the rest of what programs ask of an operating system. An attempt may happen more than once: a
//! worker that dies takes its attempt with it. Then the task starts again on another node, from its last checkpoint if it saved one.
//!
//! A panic ends the attempt with a trap, which is retried as [`Behavior::on_trap`] says; the panic's message is the error's message. The
//! same code compiles for your own machine, where module [`testing`](crate::testing) runs it against a host in memory.
//! docs/plugin-languages.md of taskrt is the manual.

#![warn(missing_docs)]
#![warn(missing_debug_implementations)]

pub mod abi;
mod behavior;
mod context;
mod error;
mod host;
mod info;
pub mod json;
mod manifest;
mod operation;
mod partitions;
pub mod process;
mod reader;
mod run;
mod span;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod time;

pub use behavior::{Behavior, Concurrency, Id, Keep, Limits, OnError, Operation, OperationConcurrency, Retry};
pub use context::{Context, Level, Signals};
pub use error::{Error, HostError};
pub use info::Info;
pub use json::BlobRef;
pub use operation::OperationTask;
pub use partitions::{Partition, PartitionError, Partitions};
pub use reader::Reader;
pub use span::Span;
pub use time::Time;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use run::exports;

/// Makes a crate a plugin: it exports the functions that a host calls, for the behaviors that a `fn() -> Vec<Behavior>` returns. Use it once.
///
/// The function is called in every attempt, and at the upload in a sandbox that answers nothing: it must only build the list.
#[macro_export]
macro_rules! export {
    ($behaviors:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[no_mangle]
            extern "C" fn taskrt_run(index: i32) -> i32 {
                $crate::exports::run($behaviors, index)
            }

            #[no_mangle]
            extern "C" fn taskrt_describe() {
                $crate::exports::describe($behaviors)
            }
        };

        // Natively nothing calls it but tests.
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn() -> ::std::vec::Vec<$crate::Behavior> = $behaviors;
    };
}
