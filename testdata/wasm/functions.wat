;; functions: the examples of abi/README.md, one for each function; the behavior's index chooses one. abi/abitest runs them, and keeps them the same.
(module
  (import "taskrt_v1" "len" (func $len (param $ch i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "log" (func $log (param $level i32) (param $ptr i32) (param $n i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (import "taskrt_v1" "signals" (func $signals (result i32)))
  (import "taskrt_v1" "clock" (func $clock (param $id i32) (result i64)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "half done")

;; whether there is a checkpoint to go on from
(func $resumed (result i32)
  (i32.ge_s (call $len (i32.const 2)) (i32.const 0)))

;; the sum of the params' bytes, read in pieces of 4 KiB: they need not fit into memory
(func $sum (result i32)
  (local $off i32) (local $n i32) (local $sum i32)
  (loop $pieces
    (local.set $n (call $read (i32.const 0) (i32.const 4096) (local.get $off) (i32.const 4096)))
    (local.set $off (i32.add (local.get $off) (local.get $n)))
    (if (i32.gt_s (local.get $n) (i32.const 0)) (then
      (loop $bytes
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (local.set $sum (i32.add (local.get $sum) (i32.load8_u offset=4096 (local.get $n))))
        (br_if $bytes (local.get $n)))
      (br $pieces))))
  (local.get $sum))

;; memory [ptr, ptr+n) is the result, and its outcome what taskrt_run returns
(func $answer (param $ptr i32) (param $n i32) (result i32)
  (if (i32.lt_s (call $write (i32.const 16) (local.get $ptr) (local.get $n)) (i32.const 0))
    (then (return (i32.const 2)))) ;; E2BIG
  (i32.const 0))

;; a warning
(func $warn (param $ptr i32) (param $n i32)
  (call $log (i32.const 3) (local.get $ptr) (local.get $n)))

;; a thousand steps, with a note and progress after each hundred; outcome 3 if told to cancel
(func $steps (result i32)
  (local $i i64)
  (loop $more
    (local.set $i (i64.add (local.get $i) (i64.const 1)))
    (if (i64.eqz (i64.rem_u (local.get $i) (i64.const 100))) (then
      (drop (call $write (i32.const 18) (i32.const 16) (i32.const 9)))
      (if (i32.and (call $beat (local.get $i) (i64.const 1000)) (i32.const 1)) (then (return (i32.const 3))))))
    (br_if $more (i64.lt_u (local.get $i) (i64.const 1000))))
  (i32.const 0))

;; whether it is time to save and yield: the worker goes away (4), or the time is nearly over (8)
(func $leave (result i32)
  (i32.ne (i32.and (call $signals) (i32.const 12)) (i32.const 0)))

;; whether there are ten seconds left
(func $time_left (result i32)
  (i64.ge_s (call $clock (i32.const 1)) (i64.const 10000)))

;; saves memory [ptr, ptr+n) as the checkpoint. -5 (EAGAIN): go on, and save later; -7 (ECONFLICT): end
(func $save (param $ptr i32) (param $n i32) (result i32)
  (call $call (i32.const 1) (local.get $ptr) (local.get $n)))

;; four bytes of the host's randomness
(func $random (result i32)
  (i32.store (i32.const 0) (i32.const 4)) ;; how many
  (drop (call $call (i32.const 6) (i32.const 0) (i32.const 4)))
  (drop (call $read (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4))) ;; the response
  (i32.load (i32.const 0)))

  ;; number answers with the four bytes of $n, little-endian.
  (func $number (param $n i32) (result i32)
    (i32.store (i32.const 0) (local.get $n))
    (call $answer (i32.const 0) (i32.const 4)))
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (block $random_ (block $save_ (block $time_ (block $leave_ (block $steps_ (block $warn_ (block $answer_ (block $sum_ (block $resumed_
      (br_table $resumed_ $sum_ $answer_ $warn_ $steps_ $leave_ $time_ $save_ $random_ (local.get $behavior)))
      (return (call $number (call $resumed))))
      (return (call $number (call $sum))))
      (return (call $answer (i32.const 16) (i32.const 9))))
      (call $warn (i32.const 16) (i32.const 9)) (return (i32.const 0)))
      (return (call $steps)))
      (return (call $number (call $leave))))
      (return (call $number (call $time_left))))
      (return (call $number (call $save (i32.const 16) (i32.const 9)))))
    (call $number (call $random))))
