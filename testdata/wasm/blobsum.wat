;; blobsum: params are a blob's name; the result is its size and the sum modulo 2^64 of the 8 bytes at every 64th, 8 bytes each,
;; lowest first. It reads 64 KiB at a time into a memory of two pages, however large the blob is.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 2 2)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $off i64) (local $sum i64) (local $n i32) (local $i i32)
    (if (i32.ne (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 72)) (i32.const 71)) ;; the name, at 0
      (then (return (i32.const 2))))
    (i32.store (i32.const 79) (i32.const 65536))                       ;; behind the name: the offset, and how much
    (loop $next
      (i64.store (i32.const 71) (local.get $off))
      (local.set $n (call $call (i32.const 10) (i32.const 0) (i32.const 83)))
      (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (i32.const 1))))
      (drop (call $read (i32.const 3) (i32.const 65536) (i32.const 0) (local.get $n)))
      (local.set $i (i32.const 0))
      (if (local.get $n) (then
        (loop $word
          (local.set $sum (i64.add (local.get $sum) (i64.load offset=65536 (local.get $i))))
          (local.set $i (i32.add (local.get $i) (i32.const 64)))
          (br_if $word (i32.lt_u (local.get $i) (local.get $n))))
        (local.set $off (i64.add (local.get $off) (i64.extend_i32_u (local.get $n))))
        (br $next))))
    (i64.store (i32.const 0) (local.get $off))
    (i64.store (i32.const 8) (local.get $sum))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 16)))
    (i32.const 0)))
