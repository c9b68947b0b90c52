use std::collections::BTreeMap;

use crate::json::{FromJson, Value};
use crate::time::Time;

/// What a guest may know of its task and attempt. Fields that the host does not tell stay empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Info {
    /// Namespace of the task.
    pub namespace: String,
    /// ID of the task, the same in every attempt: a good idempotency key for effects outside.
    pub id: String,
    /// Name of the behavior.
    pub behavior: String,
    /// Version of the behavior.
    pub version: String,
    /// 1, 2, …: counts every start, also after a lost worker.
    pub attempt: u64,
    /// Of the retry policy; 0: no limit.
    pub max_attempts: u64,
    /// Failed runs since the last success, before this one.
    pub failures: u64,
    /// Fencing token of the lease: larger for every later lease of the cluster.
    pub token: u64,
    /// The operation that the task is part of; "": none.
    pub parent: String,
    /// The partition of the operation.
    pub partition: String,
    /// Of the task; the attempt's own is [`Context::deadline`](crate::Context::deadline).
    pub deadline: Option<Time>,
    /// When the task was made.
    pub created: Option<Time>,
    /// Labels of the task.
    pub labels: BTreeMap<String, String>,
    /// The node that runs the attempt.
    pub node: String,
    /// The worker that runs the attempt.
    pub worker: String,
    /// 0 to 9.
    pub priority: u64,
    /// The JSON text, with the fields that this version of the SDK does not know.
    pub raw: String,
}

impl Info {
    pub(crate) fn parse(text: &[u8]) -> Info {
        let raw = String::from_utf8_lossy(text).into_owned();
        let members = match Value::parse(text) {
            Ok(Value::Object(members)) => members,
            _ => return Info { raw, ..Info::default() },
        };
        fn get<T: FromJson + Default>(members: &BTreeMap<String, Value>, name: &str) -> T {
            members.get(name).and_then(|v| T::from_json(v.clone()).ok()).unwrap_or_default()
        }
        let m = &members;
        Info {
            namespace: get(m, "namespace"),
            id: get(m, "id"),
            behavior: get(m, "behavior"),
            version: get(m, "version"),
            attempt: get(m, "attempt"),
            max_attempts: get(m, "max_attempts"),
            failures: get(m, "failures"),
            token: get(m, "token"),
            parent: get(m, "parent"),
            partition: get(m, "partition"),
            deadline: get(m, "deadline_ms"),
            created: get(m, "created_ms"),
            labels: get(m, "labels"),
            node: get(m, "node"),
            worker: get(m, "worker"),
            priority: get(m, "priority"),
            raw,
        }
    }

    /// The JSON that a host would say; `raw` does not count.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn to_json(&self) -> String {
        use crate::json::{ObjectWriter, ToJson};
        fn some<T: ToJson + Default + PartialEq>(w: &mut ObjectWriter<'_>, name: &str, v: &T) {
            if *v != T::default() {
                w.member(name, v);
            }
        }
        let mut out = String::new();
        let mut w = ObjectWriter::new(&mut out);
        w.member("namespace", &self.namespace);
        w.member("id", &self.id);
        w.member("behavior", &self.behavior);
        w.member("version", &self.version);
        w.member("attempt", &self.attempt);
        w.member("max_attempts", &self.max_attempts);
        w.member("failures", &self.failures);
        w.member("token", &self.token);
        some(&mut w, "parent", &self.parent);
        some(&mut w, "partition", &self.partition);
        w.member("deadline_ms", &self.deadline);
        w.member("created_ms", &self.created);
        some(&mut w, "labels", &self.labels);
        some(&mut w, "node", &self.node);
        some(&mut w, "worker", &self.worker);
        w.member("priority", &self.priority);
        w.end();
        out
    }
}
