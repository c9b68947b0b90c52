;; command: a WASI command (SPEC B5). The first byte on standard input chooses what to do; the cases are in
;; runtime/command_test.go. Numbers are decimal digits up to the first other byte.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (memory (export "memory") 3 64)
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 64) "a first line\nlast words\n")
  (data (i32.const 96) "{\22code\22:\22own\22,\22message\22:\22by channel 17\22}17")

  ;; 0: iovec, 8: count, 16..63: subscriptions, events at 128, text from 1024 on, at most 64 KiB at a time.
  (func $in (param $to i32) (param $n i32) (result i32)
    (i32.store (i32.const 0) (local.get $to)) (i32.store (i32.const 4) (local.get $n))
    (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then (return (i32.const 0))))
    (i32.load (i32.const 8)))
  (func $out (param $fd i32) (param $from i32) (param $n i32)
    (i32.store (i32.const 0) (local.get $from)) (i32.store (i32.const 4) (local.get $n))
    (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $copy (local $n i32)
    (loop $more
      (local.set $n (call $in (i32.const 1024) (i32.const 65536)))
      (call $out (i32.const 1) (i32.const 1024) (local.get $n))
      (br_if $more (local.get $n))))
  (func $number (result i32) (local $n i32)
    (loop $more
      (i32.store8 (i32.const 1024) (i32.const 0))
      (drop (call $in (i32.const 1024) (i32.const 1)))
      (if (i32.lt_u (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 48)) (i32.const 10)) (then
        (local.set $n (i32.add (i32.mul (local.get $n) (i32.const 10)) (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 48))))
        (br $more))))
    (local.get $n))
  (func $sleep (param $ms i64)
    (memory.fill (i32.const 16) (i32.const 0) (i32.const 48))
    (i32.store (i32.const 32) (i32.const 1)) ;; the monotonic clock
    (i64.store (i32.const 40) (i64.mul (local.get $ms) (i64.const 1000000)))
    (drop (call $poll (i32.const 16) (i32.const 160) (i32.const 1) (i32.const 8))))
  (func $burn (param $rounds i32) ;; 5 units of fuel and more a round
    (loop $more (br_if $more (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1))))))
  (func $list (param $count i32) (param $size i32) (local $i i32) ;; strings at 4096, each with a newline for its zero
    (loop $more
      (if (i32.eqz (i32.load8_u offset=4096 (local.get $i))) (then (i32.store8 offset=4096 (local.get $i) (i32.const 10))))
      (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $size))))
    (call $out (i32.const 1) (i32.const 4096) (local.get $size)))

  (func (export "_start") (local $case i32) (local $n i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.store8 (i32.const 1024) (i32.const 46)) ;; no params: "."
    (drop (call $in (i32.const 1024) (i32.const 1)))
    (local.set $case (i32.load8_u (i32.const 1024)))
    (if (i32.eq (local.get $case) (i32.const 0x65)) (then (call $copy) (return)))                                 ;; e: echo, and return
    (if (i32.eq (local.get $case) (i32.const 0x45)) (then (call $copy) (call $proc_exit (i32.const 0))))          ;; E: and exit
    (if (i32.eq (local.get $case) (i32.const 0x78)) (then                                                         ;; xN: exit N
      (call $out (i32.const 1) (i32.const 64) (i32.const 5))
      (call $out (i32.const 2) (i32.const 64) (i32.const 24))
      (call $proc_exit (call $number))))
    (if (i32.eq (local.get $case) (i32.const 0x64)) (then                                                         ;; dN: with an error and a time of its own
      (drop (call $write (i32.const 17) (i32.const 96) (i32.const 40)))
      (drop (call $write (i32.const 20) (i32.const 136) (i32.const 2)))
      (call $proc_exit (call $number))))
    (if (i32.eq (local.get $case) (i32.const 0x76)) (then                                                         ;; v: environment
      (drop (call $environ_sizes (i32.const 12) (i32.const 16)))
      (local.set $n (i32.load (i32.const 16)))
      (drop (call $environ (i32.const 2048) (i32.const 4096)))
      (call $list (i32.load (i32.const 12)) (local.get $n)) (return)))
    (if (i32.eq (local.get $case) (i32.const 0x61)) (then                                                         ;; a: arguments
      (drop (call $args_sizes (i32.const 12) (i32.const 16)))
      (local.set $n (i32.load (i32.const 16)))
      (drop (call $args (i32.const 2048) (i32.const 4096)))
      (call $list (i32.load (i32.const 12)) (local.get $n)) (return)))
    (if (i32.eq (local.get $case) (i32.const 0x73)) (then (call $sleep (i64.const 60000)) (return)))              ;; s: a minute's sleep
    (if (i32.eq (local.get $case) (i32.const 0x72)) (then                                                         ;; r: 10 times 40 ms and 5 M units of fuel
      (local.set $n (i32.const 10))
      (loop $more
        (call $sleep (i64.const 40))
        (call $burn (i32.const 1000000))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (return)))
    (if (i32.eq (local.get $case) (i32.const 0x6f)) (then (loop $more (call $out (i32.const 1) (i32.const 1024) (i32.const 4096)) (br $more)))) ;; o: output without end
    (if (i32.eq (local.get $case) (i32.const 0x66)) (then (loop $more (br $more))))                               ;; f: for ever
    (if (i32.eq (local.get $case) (i32.const 0x67)) (then                                                         ;; gN: memory until there is no more, exit N
      (loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0))))
      (call $proc_exit (call $number))))
    (if (i32.eq (local.get $case) (i32.const 0x74)) (then (call $out (i32.const 2) (i32.const 64) (i32.const 24)) (unreachable))) ;; t: trap
    (if (i32.eq (local.get $case) (i32.const 0x63)) (then                                                         ;; c: a letter per call in this memory: A
      (i32.store8 (i32.const 1024) (i32.add (i32.const 64) (global.get $calls)))
      (call $out (i32.const 1) (i32.const 1024) (i32.const 1)) (return)))
    (if (i32.eq (local.get $case) (i32.const 0x71)) (then                                                         ;; q: close standard input and output
      (drop (call $fd_close (i32.const 0))) (drop (call $fd_close (i32.const 1)))
      (call $out (i32.const 1) (i32.const 64) (i32.const 5)) (return)))
    (if (i32.eq (local.get $case) (i32.const 0x77)) (then                                                         ;; w: the result from both sides, and a beat
      (call $out (i32.const 1) (i32.const 64) (i32.const 2))
      (drop (call $write (i32.const 16) (i32.const 66) (i32.const 5)))
      (drop (call $beat (i64.const 3) (i64.const 4)))
      (return)))))
