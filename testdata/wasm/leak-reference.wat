;; leak-reference: the result is 1 unless an earlier attempt changed a global that is a reference.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (global $r (mut funcref) (ref.null func))
  (elem declare func $f)
  (func $f)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (i32.store8 (i32.const 0) (ref.is_null (global.get $r)))
    (global.set $r (ref.func $f))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 1)))
    (i32.const 0)))
