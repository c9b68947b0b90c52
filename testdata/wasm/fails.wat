;; fails: fails retryably as often as its params say (the first digit in them), counted by the task's failures (SPEC
;; T8), then succeeds with that digit as the result. A loss or a rerun in between does not confuse it.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)

  ;; Memory: 0..12 the key, 32 the error, 64 the digit, 1024..5120 params, then the task info.
  (data (i32.const 0) "\"failures\":")
  (data (i32.const 32) "{\"code\":\"fails\"}")

  ;; digit returns the first byte from $i on, before $end, that is a digit; '0' if there is none.
  (func $digit (param $i i32) (param $end i32) (result i32)
    (local $c i32)
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $end))
        (then
          (local.set $c (i32.load8_u (local.get $i)))
          (if (i32.lt_u (i32.sub (local.get $c) (i32.const 48)) (i32.const 10)) (then (return (local.get $c))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
    (i32.const 48))

  ;; failures returns the digit behind "failures": in the task info.
  (func $failures (result i32)
    (local $i i32) (local $end i32) (local $k i32)
    (local.set $i (i32.const 1024))
    (local.set $end (i32.add (i32.const 1024) (call $read (i32.const 1) (i32.const 1024) (i32.const 0) (i32.const 4096))))
    (loop $next
      (local.set $k (i32.const 0))
      (block $differs
        (loop $same
          (br_if $differs (i32.ne
            (i32.load8_u (local.get $k)) (i32.load8_u (i32.add (local.get $i) (local.get $k)))))
          (local.set $k (i32.add (local.get $k) (i32.const 1)))
          (br_if $same (i32.lt_u (local.get $k) (i32.const 11))))
        (return (call $digit (i32.add (local.get $i) (i32.const 11)) (local.get $end))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $end))))
    unreachable)

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $n i32)
    (local.set $n (call $digit (i32.const 1024)
      (i32.add (i32.const 1024) (call $read (i32.const 0) (i32.const 1024) (i32.const 0) (i32.const 4096)))))
    (if (i32.lt_u (call $failures) (local.get $n))
      (then
        (drop (call $write (i32.const 17) (i32.const 32) (i32.const 16)))
        (return (i32.const 1))))                            ;; retryable failure
    (i32.store8 (i32.const 64) (local.get $n))
    (drop (call $write (i32.const 16) (i32.const 64) (i32.const 1)))
    (i32.const 0)))
