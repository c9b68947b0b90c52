;; leak: first writes down what it finds of whoever was in its instance before (the result), then leaves all the traces that
;; it can, then ends in the way that the first byte of its params says. Every attempt must find the same.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $stat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $print (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 3)
  (table 2 funcref)
  (elem (i32.const 0) $nothing)
  (data (i32.const 100000) "as it was")

  (global $i (mut i32) (i32.const 1))
  (global $l (export "own") (mut i64) (i64.const 2))
  (global $f (mut f32) (f32.const 3))
  (global $d (mut f64) (f64.const 4))

  (func $nothing)

  ;; _initialize leaves an image that is not what the module's segments say: memory, globals and size.
  (func (export "_initialize")
    (drop (memory.grow (i32.const 1)))
    (i64.store (i32.const 200000) (i64.const 0x1122334455667788))
    (i64.store (i32.const 100000) (i64.const 77))
    (drop (call $random (i32.const 200016) (i32.const 16)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 200032)))
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 200040)))
    (global.set $i (i32.const 11))
    (global.set $l (i64.const 22)))

  ;; sum of the memory from $p on, in pieces of 8 bytes; their places count
  (func $sum (param $p i32) (result i64)
    (local $end i32) (local $h i64)
    (local.set $end (i32.shl (memory.size) (i32.const 16)))
    (loop $next
      (local.set $h (i64.add (i64.mul (local.get $h) (i64.const 0x100000001b3)) (i64.load (local.get $p))))
      (br_if $next (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 8))) (local.get $end))))
    (local.get $h))

  ;; Memory: 0..200 result, 256 what WASI says, 512 params.
  (func $look
    (local $sum i64)
    (local.set $sum (call $sum (i32.const 0)))
    (i64.store (i32.const 0) (local.get $sum))
    (i32.store (i32.const 8) (memory.size))
    (i32.store (i32.const 12) (global.get $i))
    (i64.store (i32.const 16) (global.get $l))
    (f32.store (i32.const 24) (global.get $f))
    (f64.store (i32.const 32) (global.get $d))
    (i32.store (i32.const 40) (call $stat (i32.const 0) (i32.const 256)))
    (i32.store (i32.const 44) (call $stat (i32.const 1) (i32.const 256)))
    (i32.store (i32.const 48) (call $stat (i32.const 2) (i32.const 256)))
    (i32.store (i32.const 52) (call $stat (i32.const 3) (i32.const 256)))
    (i32.store (i32.const 56) (call $stat (i32.const 9) (i32.const 256)))
    (i32.store (i32.const 60) (call $clock (i32.const 1) (i64.const 1) (i32.const 64)))
    (i32.store (i32.const 72) (call $clock (i32.const 0) (i64.const 1) (i32.const 80)))
    (drop (call $random (i32.const 88) (i32.const 8)))
    (i64.store (i32.const 96) (i64.load (i32.const 200000)))
    (i64.store (i32.const 104) (i64.load (i32.const 200016)))
    (i64.store (i32.const 112) (i64.load (i32.const 200024)))
    (i64.store (i32.const 120) (i64.load (i32.const 200032)))
    (i64.store (i32.const 128) (i64.load (i32.const 200040)))
    ;; standard output still leads somewhere
    (i32.store (i32.const 256) (i32.const 100000))
    (i32.store (i32.const 260) (i32.const 0))
    (i32.store (i32.const 136) (call $print (i32.const 1) (i32.const 256) (i32.const 1) (i32.const 264)))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 144))))

  ;; dirty leaves something on every page, but for one.
  (func $dirty (param $v i64)
    (local $p i32)
    (global.set $i (i32.const -1))
    (global.set $l (local.get $v))
    (global.set $f (f32.const 1e30))
    (global.set $d (f64.const -1e300))
    (local.set $p (i32.const 8192))
    (loop $next
      (i64.store (local.get $p) (local.get $v))
      (br_if $next (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 4096)))
                             (i32.shl (memory.size) (i32.const 16))))))

  (func $deep (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $deep (i32.sub (local.get $n) (i32.const 1)))))))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $how i32)
    (call $look)
    (drop (call $read (i32.const 0) (i32.const 512) (i32.const 0) (i32.const 64)))
    (local.set $how (i32.load8_u (i32.const 512)))
    (if (i32.eq (local.get $how) (i32.const 0x6c)) (then (return (i32.const 0))))                    ;; l: looks only
    (if (i32.eq (local.get $how) (i32.const 0x2e))                                                   ;; .: a little dirt
      (then (global.set $i (i32.const 5)) (i64.store (i32.const 100000) (i64.const -1)) (return (i32.const 0))))
    (call $dirty (i64.const 0x5ec4e75ec4e7))
    (if (i32.eq (local.get $how) (i32.const 0x66)) (then (return (i32.const 2))))                    ;; f: fails
    (if (i32.eq (local.get $how) (i32.const 0x74)) (then (unreachable)))                             ;; t: trap
    (if (i32.eq (local.get $how) (i32.const 0x73)) (then (loop $l (br $l))))                         ;; s: spins
    (if (i32.eq (local.get $how) (i32.const 0x67))                                                   ;; g: grows
      (then (drop (memory.grow (i32.const 2))) (call $dirty (i64.const 99)) (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 0x6d))                                                   ;; m: takes all memory
      (then (loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (call $dirty (i64.const 98)) (unreachable)))
    (if (i32.eq (local.get $how) (i32.const 0x6e))                                                   ;; n: and lives with it
      (then (loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (return (i32.const 0))))
    (if (i32.eq (local.get $how) (i32.const 0x78)) (then (call $exit (i32.const 3))))                ;; x: exits
    (if (i32.eq (local.get $how) (i32.const 0x7a)) (then (call $exit (i32.const 0))))                ;; z: exits with 0
    (if (i32.eq (local.get $how) (i32.const 0x63)) (then (drop (call $close (i32.const 1)))))        ;; c: closes stdout
    (if (i32.eq (local.get $how) (i32.const 0x72)) (then (drop (call $renumber (i32.const 2) (i32.const 9))))) ;; r
    (if (i32.eq (local.get $how) (i32.const 0x64)) (then (drop (call $deep (i32.const 200000)))))    ;; d: a deep stack
    (if (i32.eq (local.get $how) (i32.const 0x6f))                                                   ;; o: stack overflow
      (then (drop (call $deep (i32.const 2000000000)))))
    (i32.const 0)))
