;; polls: one call of poll_oneoff by each behavior. The result is its status, the number of events and, of the first four, what a program
;; reads of them: user data, error, type, bytes and flags.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock (param $id i32) (param $precision i64) (param $ptr i32) (result i32)))
  (memory (export "memory") 1024)

  ;; Memory: 0 status, 4 number of events, 8 events (32 bytes each), 1024 subscriptions (48 each), 512 a time.

  ;; $wait makes subscription $i one to a clock.
  (func $wait (param $i i32) (param $clock i32) (param $timeout i64) (param $flags i32)
    (local.set $i (i32.add (i32.const 1024) (i32.mul (local.get $i) (i32.const 48))))
    (i64.store (local.get $i) (i64.extend_i32_u (local.get $i)))
    (i32.store8 offset=8 (local.get $i) (i32.const 0))
    (i32.store offset=16 (local.get $i) (local.get $clock))
    (i64.store offset=24 (local.get $i) (local.get $timeout))
    (i32.store16 offset=40 (local.get $i) (local.get $flags)))

  (func $now (param $clock i32) (result i64)
    (drop (call $clock (local.get $clock) (i64.const 1) (i32.const 512)))
    (i64.load (i32.const 512)))

  (func $ask (param $n i32) (result i32)
    (i32.store (i32.const 0) (call $poll (i32.const 1024) (i32.const 8) (local.get $n) (i32.const 4)))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 136)))
    (i32.const 0))

  (func $many (result i32)  ;; as many subscriptions to standard input as memory holds with their events
    (local $n i32) (local $i i32)
    (local.set $n (i32.div_u (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4096)) (i32.const 80)))
    (loop $next
      (i32.store8 (i32.add (i32.const 1032) (i32.mul (local.get $i) (i32.const 48))) (i32.const 1))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i32.store (i32.const 0) (call $poll
      (i32.const 1024) (i32.add (i32.const 1024) (i32.mul (local.get $n) (i32.const 48))) (local.get $n) (i32.const 4)))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 8)))
    (i32.const 0))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (block $ever (block $until (block $two (block $many
      (br_table $many $two $until $ever (local.get $behavior)))
      (return (call $many)))
      (call $wait (i32.const 0) (i32.const 1) (i64.const 300000000) (i32.const 0))
      (call $wait (i32.const 1) (i32.const 1) (i64.const 30000000000) (i32.const 0))
      (return (call $ask (i32.const 2))))
      (call $wait (i32.const 0) (i32.const 0) (i64.add (call $now (i32.const 0)) (i64.const 2000000000)) (i32.const 1))
      (call $wait (i32.const 1) (i32.const 1) (i64.add (call $now (i32.const 1)) (i64.const 1000000000)) (i32.const 1))
      (return (call $ask (i32.const 2))))
    (call $wait (i32.const 0) (i32.const 1) (i64.const -1) (i32.const 0))
    (call $ask (i32.const 1))))
