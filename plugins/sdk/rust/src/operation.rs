use crate::error::Error;
use crate::json::{self, FromJson, Members, Value};

/// The params of a task of an operation: of a partition, of the completion, or of a cleanup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationTask {
    /// ID of the operation.
    pub operation: String,
    /// What it works on.
    pub target: String,
    /// The part of the target.
    pub object: String,
    /// The argument with which the operation was started.
    pub arg: Value,
    /// Of a partition and of its cleanup.
    pub partition: String,
    /// Of a cleanup: the fencing token of the attempt that it tidies up behind.
    pub token: u64,
    /// Of a completion: every partition succeeded.
    pub success: bool,
    /// Of a completion: how many partitions succeeded.
    pub succeeded: u64,
    /// Of a completion: how many failed.
    pub failed: u64,
}

impl OperationTask {
    /// The argument as a `T`; the error is a failure for good with the code `bad_params`.
    pub fn arg<T: FromJson>(&self) -> Result<T, Error> {
        T::from_json(self.arg.clone()).map_err(|e| Error::bad_params(e.inside("arg")))
    }
}

/// Members that are not known are passed over: a later host may tell more.
impl FromJson for OperationTask {
    fn from_json(value: Value) -> Result<OperationTask, json::Error> {
        fn get<T: FromJson + Default>(m: &mut Members, name: &str) -> Result<T, json::Error> {
            m.take_or(name, T::default)
        }
        let m = &mut Members::of(value)?;
        let mut t = OperationTask {
            operation: get(m, "operation")?,
            target: get(m, "target")?,
            object: get(m, "object")?,
            arg: get(m, "arg")?,
            partition: get(m, "partition")?,
            token: get(m, "token")?,
            success: get(m, "success")?,
            ..OperationTask::default()
        };
        if let Value::Object(counts) = get(m, "counts")? {
            let counts = &mut Members::of(Value::Object(counts))?;
            t.succeeded = get(counts, "success").map_err(|e: json::Error| e.inside("counts"))?;
            t.failed = get(counts, "failure").map_err(|e: json::Error| e.inside("counts"))?;
        }
        if t.operation.is_empty() {
            return Err(json::Error::shape("this behavior runs in an operation: \"operation\" is missing"));
        }
        Ok(t)
    }
}
