;; leak-vector: the result is 1 unless an earlier attempt changed the upper half of a global that has 128 bits.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (global $v (mut v128) (v128.const i64x2 1 1))
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (i32.store8 (i32.const 0) (i32.wrap_i64 (i64x2.extract_lane 1 (global.get $v))))
    (global.set $v (v128.const i64x2 2 2))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 1)))
    (i32.const 0)))
