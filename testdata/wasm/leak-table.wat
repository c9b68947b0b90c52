;; leak-table: the result says whether an earlier attempt changed the table; then it does. Its instances cannot be restored.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (table $t 2 funcref)
  (elem declare func $f)
  (func $f)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (i32.store8 (i32.const 0) (ref.is_null (table.get $t (i32.const 1))))
    (table.set $t (i32.const 1) (ref.func $f))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 1)))
    (i32.const 0)))
