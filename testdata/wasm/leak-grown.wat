;; leak-grown: answers with how many pages of memory it finds, then grows by as many as the first byte of its params says and
;; answers with the sum of all that is there now, then writes all over it. Every attempt must find the same number, and zero.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1 200)
  (func (export "taskrt_run") (param i32) (result i32)
    (local $p i32) (local $end i32) (local $sum i64)
    (i32.store (i32.const 0) (memory.size))
    (drop (call $read (i32.const 0) (i32.const 16) (i32.const 0) (i32.const 1)))
    (if (i32.lt_s (memory.grow (i32.load8_u (i32.const 16))) (i32.const 0)) (then (return (i32.const 2))))
    (local.set $end (i32.shl (memory.size) (i32.const 16)))
    (local.set $p (i32.const 24))
    (loop $next
      (local.set $sum (i64.or (local.get $sum) (i64.load (local.get $p))))
      (i64.store (local.get $p) (i64.const -1))
      (br_if $next (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 8))) (local.get $end))))
    (i64.store (i32.const 8) (local.get $sum))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 16)))
    (i64.store (i32.const 0) (i64.const -1))
    (i32.const 0)))
