;; steps: takes five steps, each a beat and a checkpoint that says how many are done, as one digit. It goes on from its
;; checkpoint; the result {"from":N} says where it began. Cancel ends it with outcome 3, draining with outcome 4, both before
;; the step. Behavior 1 does not come beyond the third step in an attempt that began with none: it spins.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "log" (func $log (param $level i32) (param $ptr i32) (param $n i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)

  ;; Memory: 0 the checkpoint, 16 the result, 32 what is logged.
  (data (i32.const 16) "{\"from\":0}")
  (data (i32.const 32) "step")

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $from i32) (local $done i32) (local $bits i32)
    (if (i32.eq (call $read (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 1)) (i32.const 1))
      (then (local.set $from (i32.sub (i32.load8_u (i32.const 0)) (i32.const 48)))))
    (local.set $done (local.get $from))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $done) (i32.const 5)))
        (local.set $bits (call $beat (i64.extend_i32_u (local.get $done)) (i64.const 5)))
        (if (i32.and (local.get $bits) (i32.const 3)) (then (return (i32.const 3))))
        (if (i32.and (local.get $bits) (i32.const 4)) (then (return (i32.const 4))))
        (call $log (i32.const 2) (i32.const 32) (i32.const 4))
        (local.set $done (i32.add (local.get $done) (i32.const 1)))
        (i32.store8 (i32.const 0) (i32.add (i32.const 48) (local.get $done)))
        (drop (call $call (i32.const 1) (i32.const 0) (i32.const 1)))
        (if (i32.and (local.get $behavior) (i32.and (i32.eqz (local.get $from)) (i32.eq (local.get $done) (i32.const 3))))
          (then (loop $spin (br $spin))))
        (br $next)))
    (i32.store8 (i32.const 24) (i32.add (i32.const 48) (local.get $from)))
    (drop (call $write (i32.const 16) (i32.const 16) (i32.const 10)))
    (i32.const 0)))
