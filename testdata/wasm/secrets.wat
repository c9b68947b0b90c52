;; secrets: reads the secret that its params name, logs it, notes it, writes it to standard error, and answers with the status of
;; the read. Params that begin with "=" succeed with the secret as the result, with "!" fail with it as the error.
(module
  (import "taskrt_v1" "len" (func $len (param i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param i32 i32 i32) (result i32)))
  (import "taskrt_v1" "log" (func $log (param i32 i32 i32)))
  (import "taskrt_v1" "beat" (func $beat (param i64 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $print (param i32 i32 i32 i32) (result i32)))
  (import "taskrt_secrets_v1" "get" (func $get (param $name i32) (param $n i32) (param $ptr i32) (param $cap i32) (result i32)))
  (memory (export "memory") 4)
  (global $early (mut i32) (i32.const 0))

  (func (export "_initialize") (global.set $early (call $get (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0))))

  ;; Memory: 0 params, 1000 what was read during start, 1008 iovec, 1020 written, 1024 "got ", 1028 the secret.
  (func $run (export "taskrt_run") (param $behavior i32) (result i32)
    (local $n i32) (local $got i32) (local $first i32)
    (if (i32.ne (local.get $behavior) (i32.const 0)) (then (return (call $misuse (local.get $behavior)))))
    (local.set $n (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 900)))
    (local.set $got (call $get (i32.const 1) (i32.sub (local.get $n) (i32.const 1)) (i32.const 1028) (i32.const 70000)))
    (if (i32.lt_s (local.get $got) (i32.const 0)) (then (return (call $status (local.get $got)))))
    (i32.store (i32.const 1024) (i32.const 0x20746f67))
    (call $log (i32.const 2) (i32.const 1024) (i32.add (local.get $got) (i32.const 4)))
    (drop (call $write (i32.const 18) (i32.const 1024) (i32.add (local.get $got) (i32.const 4))))
    (drop (call $beat (i64.const 1) (i64.const 2)))
    (i32.store (i32.const 1008) (i32.const 1024))
    (i32.store (i32.const 1012) (i32.add (local.get $got) (i32.const 4)))
    (drop (call $print (i32.const 2) (i32.const 1008) (i32.const 1) (i32.const 1020)))
    (local.set $first (i32.load8_u (i32.const 0)))
    (if (i32.eq (local.get $first) (i32.const 0x3d))
      (then (drop (call $write (i32.const 16) (i32.const 1028) (local.get $got))) (return (i32.const 0))))
    (drop (call $write (i32.const 17) (i32.const 1024) (i32.add (local.get $got) (i32.const 4))))
    (i32.const 2))

  ;; status answers with a number as its 4 bytes.
  (func $status (param $s i32) (result i32)
    (i32.store (i32.const 1000) (local.get $s))
    (drop (call $write (i32.const 16) (i32.const 1000) (i32.const 4)))
    (i32.const 0))

  ;; misuse is what guests do wrong: 1 a name outside memory, 2 a buffer outside memory, 3 a length that wraps, 4 a long name, 5
  ;; what was read during start, 6 no room, 7 half the room.
  (func $misuse (param $n i32) (result i32)
    (i32.store8 (i32.const 0) (i32.const 0x6b)) ;; k
    (if (i32.eq (local.get $n) (i32.const 1))
      (then (return (call $status (call $get (i32.const 262144) (i32.const 1) (i32.const 0) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 2))
      (then (return (call $status (call $get (i32.const 0) (i32.const 1) (i32.const 262140) (i32.const 5))))))
    (if (i32.eq (local.get $n) (i32.const 3))
      (then (return (call $status (call $get (i32.const 0) (i32.const 1) (i32.const 16) (i32.const -1))))))
    (if (i32.eq (local.get $n) (i32.const 4))
      (then (return (call $status (call $get (i32.const 2000) (i32.const 129) (i32.const 0) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 5)) (then (return (call $status (global.get $early)))))
    (if (i32.eq (local.get $n) (i32.const 6))
      (then (return (call $status (call $get (i32.const 0) (i32.const 1) (i32.const 262144) (i32.const 0))))))
    (drop (call $get (i32.const 0) (i32.const 1) (i32.const 3000) (i32.const 3)))
    (call $status (i32.load (i32.const 3000)))))
