;; spin: computes for ever and asks nobody.
(module
  (memory (export "memory") 1)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (loop $again (br $again))
    unreachable))
