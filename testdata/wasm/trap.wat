;; trap: dies at once, every time.
(module
  (memory (export "memory") 1)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    unreachable))
