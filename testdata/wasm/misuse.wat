;; misuse: calls the host in ways that it must refuse. The behavior's index chooses what; the answer of the host call is
;; the result, in decimal, except where the guest must not survive the call. The table is in abi/abitest/misuse_test.go.
(module
  (import "taskrt_v1" "len" (func $len (param $ch i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "log" (func $log (param $level i32) (param $ptr i32) (param $n i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (import "taskrt_v1" "signals" (func $signals (result i32)))
  (import "taskrt_v1" "clock" (func $clock (param $id i32) (result i64)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 3)
  (table $t (export "t") 4 funcref)
  (data (i32.const 256) "xyz")
  (data (i32.const 512) "sha256:00000000000000000000000000000000000000000000000000000000000000ab")

  ;; What host functions answered while the module was instantiated and initialised.
  (global $start_len (mut i32) (i32.const 99))
  (global $start_read (mut i32) (i32.const 99))
  (global $start_write (mut i32) (i32.const 99))
  (global $start_beat (mut i32) (i32.const 99))
  (global $start_signals (mut i32) (i32.const 99))
  (global $start_clock (mut i64) (i64.const 99))
  (global $start_call (mut i32) (i32.const 99))
  (global $start_blob (mut i32) (i32.const 99))
  (global $start_run (mut i32) (i32.const 99))
  (global $init_write (mut i32) (i32.const 99))

  (func $start
    (global.set $start_len (call $len (i32.const 0)))
    (global.set $start_read (call $read (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8)))
    (global.set $start_write (call $write (i32.const 16) (i32.const 256) (i32.const 1)))
    (global.set $start_beat (call $beat (i64.const 1) (i64.const 2)))
    (global.set $start_signals (call $signals))
    (global.set $start_clock (call $clock (i32.const 0)))
    (global.set $start_call (call $call (i32.const 1) (i32.const 256) (i32.const 1)))
    (global.set $start_blob (call $call (i32.const 9) (i32.const 512) (i32.const 71)))
    (global.set $start_run (call $run (i32.const 93)))
    (call $log (i32.const 2) (i32.const 256) (i32.const 3)))
  (start $start)
  (func $initialize (export "_initialize")
    (global.set $init_write (call $write (i32.const 16) (i32.const 256) (i32.const 1))))

  ;; answer writes $v in decimal as the result.
  (func $answer (param $v i64) (result i32)
    (local $p i32) (local $negative i32)
    (local.set $p (i32.const 64))
    (local.set $negative (i64.lt_s (local.get $v) (i64.const 0)))
    (if (local.get $negative) (then (local.set $v (i64.sub (i64.const 0) (local.get $v)))))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $v) (i64.const 10)))))
      (local.set $v (i64.div_u (local.get $v) (i64.const 10)))
      (br_if $next (i64.ne (local.get $v) (i64.const 0))))
    (if (local.get $negative) (then
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.const 45))))
    (drop (call $write (i32.const 16) (local.get $p) (i32.sub (i32.const 64) (local.get $p))))
    (i32.const 0))

  (func $do (param $case i32) (result i32)
    ;; pointers outside memory: none of these returns
    (if (i32.eq (local.get $case) (i32.const 0)) (then (return (call $read (i32.const 0) (i32.const 65536) (i32.const 0) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 1)) (then (return (call $read (i32.const 0) (i32.const 65535) (i32.const 0) (i32.const 2)))))
    (if (i32.eq (local.get $case) (i32.const 2)) (then (return (call $read (i32.const 0) (i32.const 16) (i32.const 0) (i32.const -8)))))
    (if (i32.eq (local.get $case) (i32.const 3)) (then (return (call $write (i32.const 16) (i32.const -1) (i32.const 2)))))
    (if (i32.eq (local.get $case) (i32.const 4)) (then (return (call $write (i32.const 99) (i32.const 65536) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 5)) (then (call $log (i32.const 2) (i32.const 65000) (i32.const 1000)) (return (i32.const 0))))
    (if (i32.eq (local.get $case) (i32.const 6)) (then (return (call $call (i32.const 1) (i32.const -16) (i32.const 32)))))
    (if (i32.eq (local.get $case) (i32.const 7)) (then (return (call $call (i32.const 9999) (i32.const 0) (i32.const -1)))))
    (if (i32.eq (local.get $case) (i32.const 8)) (then (call $log (i32.const 2) (i32.const -256) (i32.const 512)) (return (i32.const 0))))
    (if (i32.eq (local.get $case) (i32.const 9)) (then (return (call $write (i32.const 16) (i32.const 0x80000000) (i32.const 0x80000000)))))
    (if (i32.eq (local.get $case) (i32.const 13)) (then (return (call $read (i32.const 99) (i32.const 65536) (i32.const 0) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 14)) (then (return (call $call (i32.const 6) (i32.const 65533) (i32.const 4)))))
    (if (i32.eq (local.get $case) (i32.const 15)) (then (return (call $write (i32.const 16) (i32.const 65537) (i32.const 0)))))
    (if (i32.eq (local.get $case) (i32.const 16)) (then   ;; WASI: so many subscriptions of 48 and 32 bytes are 0 bytes, modulo 2^32
      (return (call $poll (i32.const 0) (i32.const 1024) (i32.const 0x10000000) (i32.const 2048)))))

    ;; nothing at the very end of memory is inside it
    (if (i32.eq (local.get $case) (i32.const 10)) (then (return (call $read (i32.const 0) (i32.const 65536) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $case) (i32.const 11)) (then (return (call $read (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 8)))))
    (if (i32.eq (local.get $case) (i32.const 12)) (then (return (call $read (i32.const 0) (i32.const 0) (i32.const 2) (i32.const 100)))))

    ;; channels
    (if (i32.eq (local.get $case) (i32.const 20)) (then (return (call $len (i32.const 99)))))
    (if (i32.eq (local.get $case) (i32.const 21)) (then (return (call $len (i32.const -1)))))
    (if (i32.eq (local.get $case) (i32.const 22)) (then (return (call $len (i32.const 16)))))
    (if (i32.eq (local.get $case) (i32.const 23)) (then (return (call $len (i32.const 3)))))
    (if (i32.eq (local.get $case) (i32.const 24)) (then (return (call $read (i32.const 17) (i32.const 0) (i32.const 0) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 25)) (then (return (call $read (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 26)) (then (return (call $write (i32.const 0) (i32.const 256) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 27)) (then (return (call $write (i32.const 5) (i32.const 256) (i32.const 1)))))
    (if (i32.eq (local.get $case) (i32.const 28)) (then (return (call $write (i32.const 19) (i32.const 256) (i32.const 1)))))

    ;; limits: the test gives 100 bytes of result and checkpoint
    (if (i32.eq (local.get $case) (i32.const 30)) (then (return (call $write (i32.const 16) (i32.const 1024) (i32.const 101)))))
    (if (i32.eq (local.get $case) (i32.const 31)) (then (return (call $write (i32.const 16) (i32.const 0) (i32.const 65536)))))
    (if (i32.eq (local.get $case) (i32.const 32)) (then (return (call $write (i32.const 17) (i32.const 0) (i32.const 16385)))))
    (if (i32.eq (local.get $case) (i32.const 33)) (then (return (call $write (i32.const 18) (i32.const 0) (i32.const 4097)))))
    (if (i32.eq (local.get $case) (i32.const 34)) (then (return (call $write (i32.const 20) (i32.const 0) (i32.const 21)))))
    (if (i32.eq (local.get $case) (i32.const 35)) (then (return (call $call (i32.const 1) (i32.const 0) (i32.const 101)))))

    ;; other arguments
    (if (i32.eq (local.get $case) (i32.const 40)) (then (return (call $beat (i64.const -1) (i64.const 0)))))
    (if (i32.eq (local.get $case) (i32.const 41)) (then (return (call $beat (i64.const 0) (i64.const -1)))))
    (if (i32.eq (local.get $case) (i32.const 42)) (then (return (i32.wrap_i64 (call $clock (i32.const 3))))))
    (if (i32.eq (local.get $case) (i32.const 43)) (then (return (i32.wrap_i64 (call $clock (i32.const -1))))))
    (if (i32.eq (local.get $case) (i32.const 44)) (then (return (call $call (i32.const 9999) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $case) (i32.const 45)) (then (return (call $call (i32.const 6) (i32.const 0) (i32.const 3)))))
    (if (i32.eq (local.get $case) (i32.const 46)) (then   ;; 65537 random bytes
      (i32.store (i32.const 0) (i32.const 65537)) (return (call $call (i32.const 6) (i32.const 0) (i32.const 4)))))
    (if (i32.eq (local.get $case) (i32.const 47)) (then   ;; a failed call leaves no response
      (i32.store (i32.const 0) (i32.const 16))
      (drop (call $call (i32.const 6) (i32.const 0) (i32.const 4)))
      (drop (call $call (i32.const 9999) (i32.const 0) (i32.const 0)))
      (return (call $len (i32.const 3)))))
    (if (i32.eq (local.get $case) (i32.const 48)) (then   ;; levels outside 0..4 are taken as the nearest
      (call $log (i32.const -5) (i32.const 256) (i32.const 1))
      (call $log (i32.const 77) (i32.const 257) (i32.const 1))
      (return (i32.const 0))))

    (if (i32.eq (local.get $case) (i32.const 80)) (then (return (call $call (i32.const 9) (i32.const 0) (i32.const 70)))))     ;; blob.size: not a name
    (if (i32.eq (local.get $case) (i32.const 81)) (then (return (call $call (i32.const 9) (i32.const 0) (i32.const 71)))))
    (if (i32.eq (local.get $case) (i32.const 82)) (then (return (call $call (i32.const 10) (i32.const 512) (i32.const 71)))))  ;; blob.read: no numbers
    (if (i32.eq (local.get $case) (i32.const 83)) (then   ;; one byte too many
      (i64.store (i32.const 583) (i64.const 0)) (i32.store (i32.const 591) (i32.const 1048577))
      (return (call $call (i32.const 10) (i32.const 512) (i32.const 83)))))
    (if (i32.eq (local.get $case) (i32.const 84)) (then   ;; an offset with the sign bit
      (i64.store (i32.const 583) (i64.const -1)) (i32.store (i32.const 591) (i32.const 1))
      (return (call $call (i32.const 10) (i32.const 512) (i32.const 83)))))
    (if (i32.eq (local.get $case) (i32.const 85)) (then   ;; a right request, for what is not there
      (i64.store (i32.const 583) (i64.const 0)) (i32.store (i32.const 591) (i32.const 1))
      (return (call $call (i32.const 10) (i32.const 512) (i32.const 83)))))
    (if (i32.eq (local.get $case) (i32.const 86)) (then (return (call $call (i32.const 8) (i32.const 0) (i32.const 65536)))))   ;; op.partitions: no JSON
    (if (i32.eq (local.get $case) (i32.const 87)) (then   ;; a request of 64 KiB and a byte
      (drop (memory.grow (i32.const 1))) (return (call $call (i32.const 8) (i32.const 0) (i32.const 65537)))))
    (if (i32.eq (local.get $case) (i32.const 88)) (then (return (global.get $start_blob))))

    ;; what start and _initialize were told
    (if (i32.eq (local.get $case) (i32.const 50)) (then (return (global.get $start_len))))
    (if (i32.eq (local.get $case) (i32.const 51)) (then (return (global.get $start_read))))
    (if (i32.eq (local.get $case) (i32.const 52)) (then (return (global.get $start_write))))
    (if (i32.eq (local.get $case) (i32.const 53)) (then (return (global.get $start_beat))))
    (if (i32.eq (local.get $case) (i32.const 54)) (then (return (global.get $start_signals))))
    (if (i32.eq (local.get $case) (i32.const 55)) (then (return (i32.wrap_i64 (global.get $start_clock)))))
    (if (i32.eq (local.get $case) (i32.const 56)) (then (return (global.get $start_call))))
    (if (i32.eq (local.get $case) (i32.const 57)) (then (return (global.get $init_write))))
    (if (i32.eq (local.get $case) (i32.const 58)) (then (return (global.get $start_run))))

    ;; the sandbox: sums of what there is
    (if (i32.eq (local.get $case) (i32.const 60)) (then
      (drop (call $environ (i32.const 0) (i32.const 4))) (return (i32.add (i32.load (i32.const 0)) (i32.load (i32.const 4))))))
    (if (i32.eq (local.get $case) (i32.const 61)) (then
      (drop (call $args (i32.const 0) (i32.const 4))) (return (i32.add (i32.load (i32.const 0)) (i32.load (i32.const 4))))))
    (if (i32.eq (local.get $case) (i32.const 62)) (then (return (call $prestat (i32.const 3) (i32.const 0)))))  ;; 8: EBADF
    (if (i32.eq (local.get $case) (i32.const 63)) (then   ;; bytes on standard input
      (i32.store (i32.const 0) (i32.const 512)) (i32.store (i32.const 4) (i32.const 100))
      (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (return (i32.load (i32.const 8)))))
    (if (i32.eq (local.get $case) (i32.const 64)) (then   ;; a table of the host's memory
      (return (table.grow $t (ref.null func) (i32.const 0x7ffffff)))))
    (if (i32.eq (local.get $case) (i32.const 65)) (then   ;; the module's own maximum of 3 pages
      (return (memory.grow (i32.const 3)))))
    (if (i32.eq (local.get $case) (i32.const 66)) (then   ;; WASI has a status for pointers, 21 (EFAULT): the list
      (return (call $fd_write (i32.const 1) (i32.const 65532) (i32.const 1) (i32.const 8)))))
    (if (i32.eq (local.get $case) (i32.const 67)) (then   ;; what the list points to
      (i32.store (i32.const 0) (i32.const -4)) (i32.store (i32.const 4) (i32.const 8))
      (return (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
    (if (i32.eq (local.get $case) (i32.const 68)) (then (return (call $random (i32.const 65535) (i32.const 2)))))
    (if (i32.eq (local.get $case) (i32.const 69)) (then (return (call $environ (i32.const 65533) (i32.const 0)))))
    unreachable)

  (func $put (param $ch i32) (param $n i32) (drop (call $write (local.get $ch) (i32.const 256) (local.get $n))))

  ;; order: calls in an order that an SDK would not give them.
  (func $order (param $behavior i32) (result i32)
    (if (i32.eq (local.get $behavior) (i32.const 75)) (then                                ;; everything goes on after a result
      (call $put (i32.const 16) (i32.const 3))
      (drop (call $beat (i64.const 1) (i64.const 2)))
      (drop (call $call (i32.const 1) (i32.const 256) (i32.const 2)))
      (call $put (i32.const 16) (i32.const 2))
      (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 76)) (then                                ;; what does not fit is refused whole
      (call $put (i32.const 16) (i32.const 60)) (call $put (i32.const 16) (i32.const 41)) (call $put (i32.const 16) (i32.const 1))
      (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 77)) (then (call $put (i32.const 16) (i32.const 3)) (return (i32.const 2)))) ;; a result, and a failure
    (if (i32.eq (local.get $behavior) (i32.const 78)) (then (call $put (i32.const 16) (i32.const 3)) (unreachable)))          ;; a result, and a trap
    (if (i32.eq (local.get $behavior) (i32.const 79)) (then (call $put (i32.const 16) (i32.const 3)) (return (i32.const 4)))) ;; a result, and a yield
    (if (i32.eq (local.get $behavior) (i32.const 90)) (then (call $put (i32.const 17) (i32.const 3)) (return (i32.const 0)))) ;; an error, and a success
    (if (i32.eq (local.get $behavior) (i32.const 91)) (then                                ;; next time, in two pieces: 17
      (i32.store8 (i32.const 0) (i32.const 49)) (drop (call $write (i32.const 20) (i32.const 0) (i32.const 1)))
      (i32.store8 (i32.const 0) (i32.const 55)) (drop (call $write (i32.const 20) (i32.const 0) (i32.const 1)))
      (return (i32.const 4))))
    (if (i32.eq (local.get $behavior) (i32.const 92)) (then                                ;; notes replace each other; a refused one does not
      (call $put (i32.const 18) (i32.const 3)) (call $put (i32.const 18) (i32.const 2)) (call $put (i32.const 18) (i32.const 4097))
      (drop (call $beat (i64.const 1) (i64.const 2)))
      (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 93)) (then                                ;; ok iff a result can be written
      (if (i32.lt_s (call $write (i32.const 16) (i32.const 256) (i32.const 3)) (i32.const 0)) (then (return (i32.const 2))))
      (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 94)) (then                                ;; taskrt_run calls taskrt_run
      (return (i32.add (call $run (i32.const 93)) (call $run (i32.const 93))))))
    (if (i32.eq (local.get $behavior) (i32.const 95)) (then                                ;; and _initialize: the phase is the host's
      (call $initialize)
      (return (call $answer (i64.extend_i32_s (global.get $init_write))))))
    (i32.const -1))

  (func $run (export "taskrt_run") (param $behavior i32) (result i32)
    (local $v i32)
    (local.set $v (call $order (local.get $behavior)))
    (if (i32.ge_s (local.get $v) (i32.const 0)) (then (return (local.get $v))))
    (if (i32.eq (local.get $behavior) (i32.const 70)) (then (return (i32.const 5))))       ;; no outcome
    (if (i32.eq (local.get $behavior) (i32.const 71)) (then (return (i32.const -1))))
    (if (i32.eq (local.get $behavior) (i32.const 72)) (then                                ;; next time is no number
      (drop (call $write (i32.const 20) (i32.const 256) (i32.const 3))) (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 73)) (then                                ;; a result of no bytes
      (drop (call $write (i32.const 16) (i32.const 0) (i32.const 0))) (return (i32.const 0))))
    (if (i32.eq (local.get $behavior) (i32.const 74)) (then                                ;; error detail is the params
      (drop (call $write (i32.const 17) (i32.const 0) (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 60000))))
      (return (i32.const 1))))
    (local.set $v (call $do (local.get $behavior)))
    (call $answer (i64.extend_i32_s (local.get $v)))))
