;; wait: sleeps for the milliseconds that its params say (the first decimal number in them: 500, or {"ms":500}), beating
;; every 50 ms. Cancel ends it with outcome 3, draining with a checkpoint and outcome 4: the next attempt goes on from
;; there. The result is the number.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (import "taskrt_v1" "clock" (func $clock (param $id i32) (result i64)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)))
  (memory (export "memory") 1)

  ;; Memory: 0 subscription (48 bytes), 64 event (32), 96 number of events, 128..256 digits, 1024..5120 input.

  ;; number returns the first decimal number in channel $ch, 0 if there is none.
  (func $number (param $ch i32) (result i64)
    (local $n i32) (local $i i32) (local $c i32) (local $v i64) (local $seen i32)
    (local.set $n (call $read (local.get $ch) (i32.const 1024) (i32.const 0) (i32.const 4096)))
    (block $end
      (loop $next
        (br_if $end (i32.ge_s (local.get $i) (local.get $n)))
        (local.set $c (i32.sub (i32.load8_u offset=1024 (local.get $i)) (i32.const 48)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (if (i32.lt_u (local.get $c) (i32.const 10))
          (then
            (local.set $seen (i32.const 1))
            (local.set $v (i64.add (i64.mul (local.get $v) (i64.const 10)) (i64.extend_i32_u (local.get $c)))))
          (else (br_if $end (local.get $seen))))
        (br $next)))
    (local.get $v))

  ;; digits writes $v in decimal so that it ends before address 256, and returns where it begins.
  (func $digits (param $v i64) (result i32)
    (local $p i32)
    (local.set $p (i32.const 256))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $v) (i64.const 10)))))
      (local.set $v (i64.div_u (local.get $v) (i64.const 10)))
      (br_if $next (i64.ne (local.get $v) (i64.const 0))))
    (local.get $p))

  (func $sleep (param $ms i64)
    (i32.store8 (i32.const 8) (i32.const 0))   ;; a clock event
    (i32.store (i32.const 16) (i32.const 1))   ;; monotonic clock
    (i64.store (i32.const 24) (i64.mul (local.get $ms) (i64.const 1000000)))
    (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 96))))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $total i64) (local $before i64) (local $begin i64) (local $done i64) (local $left i64) (local $bits i32) (local $p i32)
    (local.set $total (call $number (i32.const 0)))
    (local.set $before (call $number (i32.const 2)))  ;; of earlier attempts
    (local.set $begin (call $clock (i32.const 2)))
    (block $end
      (loop $next
        (local.set $done (i64.add (local.get $before)
          (i64.div_s (i64.sub (call $clock (i32.const 2)) (local.get $begin)) (i64.const 1000000))))
        (local.set $bits (call $beat (local.get $done) (local.get $total)))
        (if (i32.and (local.get $bits) (i32.const 3))  ;; cancel or lease lost
          (then (return (i32.const 3))))
        (local.set $left (i64.sub (local.get $total) (local.get $done)))
        (br_if $end (i64.le_s (local.get $left) (i64.const 0)))
        (if (i32.and (local.get $bits) (i32.const 4))  ;; draining
          (then
            (local.set $p (call $digits (local.get $done)))
            (drop (call $call (i32.const 1) (local.get $p) (i32.sub (i32.const 256) (local.get $p))))
            (return (i32.const 4))))
        (call $sleep (select (local.get $left) (i64.const 50) (i64.lt_s (local.get $left) (i64.const 50))))
        (br $next)))
    (local.set $p (call $digits (local.get $total)))
    (drop (call $write (i32.const 16) (local.get $p) (i32.sub (i32.const 256) (local.get $p))))
    (i32.const 0)))
