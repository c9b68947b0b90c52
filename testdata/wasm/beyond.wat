;; beyond: what WebAssembly has beyond 2.0 and taskrt takes: tail calls and extended constant expressions. The behaviors: a million calls deep
;; by return_call; the same by return_call_indirect; a return_call of the host; calls without end, either way; constants.
(module
  (type $step (func (param i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (table funcref (elem $even $odd $around))
  (global $base i32 (i32.add (i32.mul (i32.const 5) (i32.const 204)) (i32.const 4)))
  (global $end i64 (i64.sub (i64.const 1) (i64.const 2)))
  (data (i32.mul (i32.const 512) (i32.const 2)) "by arithmetic")

  (func $even (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (return_call $odd (i32.sub (local.get $n) (i32.const 1))))
  (func $odd (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (return_call_indirect (type $step) (i32.sub (local.get $n) (i32.const 1)) (i32.const 0)))
  (func $around (param $n i32) (result i32)
    (return_call_indirect (type $step) (local.get $n) (i32.const 2)))
  (func $ever (result i32) (return_call $ever))
  (func $text (result i32) (return_call $write (i32.const 16) (global.get $base) (i32.const 13)))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (block $indirect (block $ever (block $text (block $deep
      (br_table $deep $text $ever $indirect (local.get $behavior)))
      (i32.store (i32.const 0) (call $even (i32.const 1000000)))
      (drop (call $write (i32.const 16) (i32.const 0) (i32.const 4)))
      (return (i32.const 0)))
      ;; the status of write is the number of bytes, and $end is -1
      (return (i32.add (call $text) (i32.sub (i32.wrap_i64 (global.get $end)) (i32.const 12)))))
      (return_call $ever))
    (return_call $around (i32.const 0))))
