;; again: its first attempt says when to run again, at the Unix milliseconds that are its params (SPEC R4); the later ones
;; say nothing. Behavior 0 succeeds, with the time as the result; behavior 1 fails retryably.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)

  ;; Memory: 0..12 what the info of a first attempt holds, 64 the params, 1024..5120 the task info.
  (data (i32.const 0) "\"attempt\":1,")

  ;; first tells whether the 12 bytes stand anywhere in the info.
  (func $first (result i32)
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
          (br_if $same (i32.lt_u (local.get $k) (i32.const 12))))
        (return (i32.const 1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $end))))
    (i32.const 0))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $n i32)
    (local.set $n (call $read (i32.const 0) (i32.const 64) (i32.const 0) (i32.const 900)))
    (if (call $first)
      (then (drop (call $write (i32.const 20) (i32.const 64) (local.get $n))))) ;; channel 20: the next time
    (drop (call $write (i32.const 16) (i32.const 64) (local.get $n)))
    (local.get $behavior)))                                                      ;; 0: ok, 1: retryable failure
