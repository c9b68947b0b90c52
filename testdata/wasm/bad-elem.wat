;; bad-elem: its first element segment does not fit into the table: the module cannot be instantiated.
(module
  (memory (export "memory") 1)
  (table 2 funcref)
  (func (export "taskrt_run") (param i32) (result i32)
    (drop (call_indirect (result i32) (i32.const 0)))
    (i32.const 0))
  (func $g (result i32) (i32.const 7))
  (elem (i32.const 5) $g)
  (elem (i32.const 0) $g))
