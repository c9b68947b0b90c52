;; conformance-wat: the conformance guest of abi/abitest, by hand. See abi/abitest/doc.go for what every case does.
;;
;; Memory: 0..511 scratch (number at 0..31, WASI iovec at 64, subscription at 96, event at 160), 512 errors as JSON,
;; 1024 names of cases in slots of 16 bytes, 2048 texts, 65536.. params, and behind them other input.
(module
  (import "taskrt_v1" "len" (func $len (param $ch i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "log" (func $log (param $level i32) (param $ptr i32) (param $n i32)))
  (import "taskrt_v1" "beat" (func $beat (param $done i64) (param $total i64) (result i32)))
  (import "taskrt_v1" "signals" (func $signals (result i32)))
  (import "taskrt_v1" "clock" (func $clock (param $id i32) (result i64)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param $fd i32) (param $iovs i32) (param $n i32) (param $written i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll (param $in i32) (param $out i32) (param $n i32) (param $events i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param $code i32)))
  (memory (export "memory") 2)

  (data (i32.const 1024)
    "echo            sum             empty           fill            "   ;; 1024 1040 1056 1072
    "fail-retry      fail-permanent  fail-plain      fail-details    "   ;; 1088 1104 1120 1136
    "beat            signals         wait-cancel     wait-drain      "   ;; 1152 1168 1184 1200
    "checkpoint      resume          log             stdout          "   ;; 1216 1232 1248 1264
    "stderr          clock           sleep           random          "   ;; 1280 1296 1312 1328
    "info            config          yield           again           "   ;; 1344 1360 1376 1392
    "later           panic           exit            pieces          "   ;; 1408 1424 1440 1456
    "blob-size       blob-read       partitions      ")                  ;; 1472 1488 1504
  (data (i32.const 2048) "{\"code\":\"unknown_case\",\"message\":\"unknown case\"}")       ;; 48 bytes
  (data (i32.const 2112) "{\"code\":\"with_details\",\"message\":\"see details\",\"details\":{\"k\":[1,2]}}") ;; 69
  (data (i32.const 2192) "{\"code\":\"later\",\"message\":\"later\"}")                     ;; 34
  (data (i32.const 2240) "{\"code\":\"too_big\",\"message\":\"too big\"}")                 ;; 38
  (data (i32.const 2304) "a tracea debugan infoa warnan error")                           ;; 7 7 7 6 8
  (data (i32.const 2352) "nonesleptdrainedagainstep ")                                    ;; 4 5 7 5 5
  (data (i32.const 2400) "{\"code\":\"")                                                  ;; 9
  (data (i32.const 2416) "\",\"message\":\"")                                             ;; 13
  (data (i32.const 2432) "\"}")                                                           ;; 2
  (data (i32.const 2448) "{\"code\":\"errno_")                                            ;; 15
  (data (i32.const 2480) "\n")

  (global $params i32 (i32.const 65536))
  (global $n (mut i32) (i32.const 0))      ;; length of the params
  (global $name (mut i32) (i32.const 0))   ;; length of the case's name
  (global $arg (mut i32) (i32.const 0))    ;; where ARG begins
  (global $arg_n (mut i32) (i32.const 0))  ;; its length
  (global $free (mut i32) (i32.const 0))   ;; first free byte behind the params

  ;; room makes sure that memory reaches $end.
  (func $room (param $end i32)
    (local $pages i32)
    (local.set $pages (i32.add (i32.shr_u (local.get $end) (i32.const 16)) (i32.const 1)))
    (if (i32.gt_u (local.get $pages) (memory.size))
      (then (if (i32.eq (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const -1))
        (then unreachable)))))

  ;; index of the first space in [$p, $p+$n), or $n
  (func $space (param $p i32) (param $n i32) (result i32)
    (local $i i32)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $i) (local.get $n)))
        (br_if $end (i32.eq (i32.load8_u (i32.add (local.get $p) (local.get $i))) (i32.const 32)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $i))

  ;; is says whether the case has the name in a slot.
  (func $is (param $slot i32) (result i32)
    (local $i i32) (local $c i32)
    (loop $next
      (local.set $c (i32.load8_u (i32.add (local.get $slot) (local.get $i))))
      (if (i32.or (i32.eq (local.get $i) (i32.const 16)) (i32.eq (local.get $c) (i32.const 32)))
        (then (return (i32.eq (local.get $i) (global.get $name)))))
      (if (i32.ge_u (local.get $i) (global.get $name)) (then (return (i32.const 0))))
      (if (i32.ne (local.get $c) (i32.load8_u (i32.add (global.get $params) (local.get $i))))
        (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; number reads ARG as a decimal number.
  (func $number (result i64)
    (local $i i32) (local $v i64)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $i) (global.get $arg_n)))
        (local.set $v (i64.add (i64.mul (local.get $v) (i64.const 10))
          (i64.extend_i32_u (i32.sub (i32.load8_u (i32.add (global.get $arg) (local.get $i))) (i32.const 48)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $v))

  ;; put appends bytes to an output channel; a refusal is fatal.
  (func $put (param $ch i32) (param $p i32) (param $n i32)
    (if (i32.lt_s (call $write (local.get $ch) (local.get $p) (local.get $n)) (i32.const 0)) (then unreachable)))

  ;; digits writes $v in decimal so that it ends before address 32, and returns where it begins.
  (func $digits (param $v i64) (result i32)
    (local $p i32)
    (local.set $p (i32.const 32))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $v) (i64.const 10)))))
      (local.set $v (i64.div_u (local.get $v) (i64.const 10)))
      (br_if $next (i64.ne (local.get $v) (i64.const 0))))
    (local.get $p))

  (func $put_number (param $ch i32) (param $v i64)
    (local $p i32)
    (local.set $p (call $digits (local.get $v)))
    (call $put (local.get $ch) (local.get $p) (i32.sub (i32.const 32) (local.get $p))))

  ;; copy_channel writes an input channel to the result, or "none".
  (func $copy_channel (param $ch i32) (result i32)
    (local $n i32)
    (local.set $n (call $len (local.get $ch)))
    (if (i32.eq (local.get $n) (i32.const -4))
      (then (call $put (i32.const 16) (i32.const 2352) (i32.const 4)) (return (i32.const 0))))
    (call $room (i32.add (global.get $free) (local.get $n)))
    (drop (call $read (local.get $ch) (global.get $free) (i32.const 0) (local.get $n)))
    (call $put (i32.const 16) (global.get $free) (local.get $n))
    (i32.const 0))

  (func $sum (result i32)
    (local $i i32) (local $sum i32)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $i) (global.get $n)))
        (local.set $sum (i32.add (local.get $sum) (i32.load8_u (i32.add (global.get $params) (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (call $put_number (i32.const 16) (i64.extend_i32_u (global.get $n)))
    (i32.store8 (i32.const 40) (i32.const 32))
    (call $put (i32.const 16) (i32.const 40) (i32.const 1))
    (call $put_number (i32.const 16) (i64.extend_i32_u (local.get $sum)))
    (i32.const 0))

  ;; fill writes the result in pieces of 1000 bytes, then the rest: refusals may come late.
  (func $fill (result i32)
    (local $left i32) (local $piece i32)
    (memory.fill (i32.const 4096) (i32.const 120) (i32.const 1000))
    (local.set $left (i32.wrap_i64 (call $number)))
    (loop $next
      (local.set $piece (select (local.get $left) (i32.const 1000) (i32.lt_u (local.get $left) (i32.const 1000))))
      (if (i32.lt_s (call $write (i32.const 16) (i32.const 4096) (local.get $piece)) (i32.const 0))
        (then
          (call $put (i32.const 17) (i32.const 2240) (i32.const 38))
          (return (i32.const 2))))
      (local.set $left (i32.sub (local.get $left) (local.get $piece)))
      (br_if $next (local.get $left)))
    (i32.const 0))

  ;; fail writes {"code":CODE,"message":MESSAGE}; nothing in them needs escaping.
  (func $fail (param $outcome i32) (result i32)
    (local $code i32)
    (local.set $code (call $space (global.get $arg) (global.get $arg_n)))
    (call $put (i32.const 17) (i32.const 2400) (i32.const 9))
    (call $put (i32.const 17) (global.get $arg) (local.get $code))
    (call $put (i32.const 17) (i32.const 2416) (i32.const 13))
    (local.set $code (i32.add (local.get $code) (i32.const 1)))
    (if (i32.lt_u (local.get $code) (global.get $arg_n)) (then
      (call $put (i32.const 17) (i32.add (global.get $arg) (local.get $code)) (i32.sub (global.get $arg_n) (local.get $code)))))
    (call $put (i32.const 17) (i32.const 2432) (i32.const 2))
    (local.get $outcome))

  ;; pieces is sum, through reads of at most 4096 bytes. It asks for one byte more at the end, and hears that there is none.
  (func $pieces (result i32)
    (local $off i32) (local $n i32) (local $i i32) (local $sum i32)
    (block $end
      (loop $next
        (local.set $n (call $read (i32.const 0) (i32.const 4096) (local.get $off) (i32.const 4096)))
        (br_if $end (i32.eqz (local.get $n)))
        (if (i32.lt_s (local.get $n) (i32.const 0)) (then unreachable))
        (local.set $i (i32.const 0))
        (loop $byte
          (local.set $sum (i32.add (local.get $sum) (i32.load8_u (i32.add (i32.const 4096) (local.get $i)))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $byte (i32.lt_u (local.get $i) (local.get $n))))
        (local.set $off (i32.add (local.get $off) (local.get $n)))
        (br $next)))
    (call $put_number (i32.const 16) (i64.extend_i32_u (local.get $off)))
    (i32.store8 (i32.const 40) (i32.const 32))
    (call $put (i32.const 16) (i32.const 40) (i32.const 1))
    (call $put_number (i32.const 16) (i64.extend_i32_u (local.get $sum)))
    (i32.const 0))

  (func $beats (result i32)
    (local $i i64) (local $n i64) (local $bits i32) (local $p i32)
    (local.set $n (call $number))
    (block $end
      (loop $next
        (br_if $end (i64.ge_u (local.get $i) (local.get $n)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (local.set $p (i32.sub (call $digits (local.get $i)) (i32.const 5)))
        (memory.copy (local.get $p) (i32.const 2373) (i32.const 5))   ;; "step "
        (call $put (i32.const 18) (local.get $p) (i32.sub (i32.const 32) (local.get $p)))
        (local.set $bits (i32.or (local.get $bits) (call $beat (local.get $i) (local.get $n))))
        (br $next)))
    (call $put_number (i32.const 16) (i64.extend_i32_u (local.get $bits)))
    (i32.const 0))

  ;; wait beats until one of $bits is set.
  (func $wait (param $bits i32)
    (loop $next
      (br_if $next (i32.eqz (i32.and (call $beat (i64.const 0) (i64.const 0)) (local.get $bits))))))

  (func $save (param $p i32) (param $n i32) (result i32) (call $request (i32.const 1) (local.get $p) (local.get $n)))

  ;; request calls the host; a negative status becomes an error with the code errno_N.
  (func $request (param $op i32) (param $p i32) (param $n i32) (result i32)
    (local $status i32)
    (local.set $status (call $call (local.get $op) (local.get $p) (local.get $n)))
    (if (i32.lt_s (local.get $status) (i32.const 0)) (then
      (call $put (i32.const 17) (i32.const 2448) (i32.const 15))
      (call $put_number (i32.const 17) (i64.extend_i32_u (i32.sub (i32.const 0) (local.get $status))))
      (call $put (i32.const 17) (i32.const 2432) (i32.const 2))))
    (local.get $status))

  (func $checkpoint (result i32)
    (if (i32.lt_s (call $save (global.get $arg) (global.get $arg_n)) (i32.const 0)) (then (return (i32.const 2))))
    (call $copy_channel (i32.const 2)))

  (func $logs (result i32)
    (call $log (i32.const 0) (i32.const 2304) (i32.const 7))
    (call $log (i32.const 1) (i32.const 2311) (i32.const 7))
    (call $log (i32.const 2) (i32.const 2318) (i32.const 7))
    (call $log (i32.const 3) (i32.const 2325) (i32.const 6))
    (call $log (i32.const 4) (i32.const 2331) (i32.const 8))
    (i32.const 0))

  ;; print writes ARG and a newline to a file descriptor.
  (func $print (param $fd i32) (result i32)
    (i32.store (i32.const 64) (global.get $arg))
    (i32.store (i32.const 68) (global.get $arg_n))
    (i32.store (i32.const 72) (i32.const 2480))
    (i32.store (i32.const 76) (i32.const 1))
    (call $fd_write (local.get $fd) (i32.const 64) (i32.const 2) (i32.const 80)))

  (func $clocks (result i32)
    (i32.store8 (i32.const 40) (i32.const 32))
    (call $put_number (i32.const 16) (call $clock (i32.const 0)))
    (call $put (i32.const 16) (i32.const 40) (i32.const 1))
    (call $put_number (i32.const 16) (call $clock (i32.const 1)))
    (call $put (i32.const 16) (i32.const 40) (i32.const 1))
    (call $put_number (i32.const 16) (call $clock (i32.const 2)))
    (i32.const 0))

  (func $sleep (result i32)
    (i32.store8 (i32.const 104) (i32.const 0))    ;; a clock event
    (i32.store (i32.const 112) (i32.const 1))     ;; monotonic clock
    (i64.store (i32.const 120) (i64.mul (call $number) (i64.const 1000000)))
    (drop (call $poll (i32.const 96) (i32.const 160) (i32.const 1) (i32.const 200)))
    (call $put (i32.const 16) (i32.const 2356) (i32.const 5))
    (i32.const 0))

  (func $random (result i32)
    (i32.store (i32.const 0) (i32.wrap_i64 (call $number)))
    (if (i32.lt_s (call $call (i32.const 6) (i32.const 0) (i32.const 4)) (i32.const 0)) (then unreachable))
    (call $copy_channel (i32.const 3)))

  (func $blob_size (result i32)
    (if (i32.lt_s (call $request (i32.const 9) (global.get $arg) (global.get $arg_n)) (i32.const 0)) (then (return (i32.const 2))))
    (drop (call $read (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 8)))
    (call $put_number (i32.const 16) (i64.load (i32.const 0)))
    (i32.const 0))

  ;; word takes the number at the beginning of ARG, and the space behind it, off ARG.
  (func $word (result i64)
    (local $n i32) (local $rest i32) (local $v i64)
    (local.set $n (call $space (global.get $arg) (global.get $arg_n)))
    (local.set $rest (i32.sub (global.get $arg_n) (local.get $n)))
    (global.set $arg_n (local.get $n))
    (local.set $v (call $number))
    (if (local.get $rest) (then
      (local.set $rest (i32.sub (local.get $rest) (i32.const 1)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))))
    (global.set $arg (i32.add (global.get $arg) (local.get $n)))
    (global.set $arg_n (local.get $rest))
    (local.get $v))

  ;; blob_read: ARG is "OFFSET N NAME"; the request is NAME, and the two numbers in 8 and 4 bytes behind it.
  (func $blob_read (result i32)
    (local $off i64) (local $n i64) (local $end i32)
    (local.set $off (call $word))
    (local.set $n (call $word))
    (local.set $end (i32.add (global.get $arg) (global.get $arg_n)))
    (call $room (i32.add (local.get $end) (i32.const 12)))
    (i64.store (local.get $end) (local.get $off))
    (i32.store (i32.add (local.get $end) (i32.const 8)) (i32.wrap_i64 (local.get $n)))
    (if (i32.lt_s (call $request (i32.const 10) (global.get $arg) (i32.add (global.get $arg_n) (i32.const 12))) (i32.const 0))
      (then (return (i32.const 2))))
    (call $copy_channel (i32.const 3)))

  (func $partitions (result i32)
    (if (i32.lt_s (call $request (i32.const 8) (global.get $arg) (global.get $arg_n)) (i32.const 0)) (then (return (i32.const 2))))
    (call $copy_channel (i32.const 3)))

  ;; next writes ARG as the next time, if there is one.
  (func $next
    (if (global.get $arg_n) (then (call $put (i32.const 20) (global.get $arg) (global.get $arg_n)))))

  (func $run (result i32)
    (if (call $is (i32.const 1024)) (then
      (call $put (i32.const 16) (global.get $arg) (global.get $arg_n)) (return (i32.const 0))))
    (if (call $is (i32.const 1040)) (then (return (call $sum))))
    (if (call $is (i32.const 1056)) (then (return (i32.const 0))))
    (if (call $is (i32.const 1072)) (then (return (call $fill))))
    (if (call $is (i32.const 1088)) (then (return (call $fail (i32.const 1)))))
    (if (call $is (i32.const 1104)) (then (return (call $fail (i32.const 2)))))
    (if (call $is (i32.const 1120)) (then
      (call $put (i32.const 17) (global.get $arg) (global.get $arg_n)) (return (i32.const 1))))
    (if (call $is (i32.const 1136)) (then
      (call $put (i32.const 17) (i32.const 2112) (i32.const 69)) (return (i32.const 2))))
    (if (call $is (i32.const 1152)) (then (return (call $beats))))
    (if (call $is (i32.const 1168)) (then
      (call $put_number (i32.const 16) (i64.extend_i32_u (call $signals))) (return (i32.const 0))))
    (if (call $is (i32.const 1184)) (then (call $wait (i32.const 1)) (return (i32.const 3))))
    (if (call $is (i32.const 1200)) (then
      (call $wait (i32.const 4))
      (if (i32.lt_s (call $save (i32.const 2361) (i32.const 7)) (i32.const 0)) (then (return (i32.const 2))))
      (return (i32.const 4))))
    (if (call $is (i32.const 1216)) (then (return (call $checkpoint))))
    (if (call $is (i32.const 1232)) (then (return (call $copy_channel (i32.const 2)))))
    (if (call $is (i32.const 1248)) (then (return (call $logs))))
    (if (call $is (i32.const 1264)) (then (return (call $print (i32.const 1)))))
    (if (call $is (i32.const 1280)) (then (return (call $print (i32.const 2)))))
    (if (call $is (i32.const 1296)) (then (return (call $clocks))))
    (if (call $is (i32.const 1312)) (then (return (call $sleep))))
    (if (call $is (i32.const 1328)) (then (return (call $random))))
    (if (call $is (i32.const 1344)) (then (return (call $copy_channel (i32.const 1)))))
    (if (call $is (i32.const 1360)) (then (return (call $copy_channel (i32.const 4)))))
    (if (call $is (i32.const 1376)) (then (call $next) (return (i32.const 4))))
    (if (call $is (i32.const 1392)) (then
      (call $next) (call $put (i32.const 16) (i32.const 2368) (i32.const 5)) (return (i32.const 0))))
    (if (call $is (i32.const 1408)) (then
      (call $next) (call $put (i32.const 17) (i32.const 2192) (i32.const 34)) (return (i32.const 1))))
    (if (call $is (i32.const 1424)) (then (drop (call $print (i32.const 2))) unreachable))
    (if (call $is (i32.const 1440)) (then (call $proc_exit (i32.wrap_i64 (call $number))) unreachable))
    (if (call $is (i32.const 1472)) (then (return (call $blob_size))))
    (if (call $is (i32.const 1488)) (then (return (call $blob_read))))
    (if (call $is (i32.const 1504)) (then (return (call $partitions))))
    (call $put (i32.const 17) (i32.const 2048) (i32.const 48))
    (i32.const 2))

  ;; head says whether the params begin with "pieces": these are read in no other way.
  (func $head (result i32)
    (global.set $n (call $read (i32.const 0) (global.get $params) (i32.const 0) (i32.const 16)))
    (global.set $name (call $space (global.get $params) (global.get $n)))
    (call $is (i32.const 1456)))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (if (call $head) (then (return (call $pieces))))
    (global.set $n (call $len (i32.const 0)))
    (call $room (i32.add (global.get $params) (global.get $n)))
    (if (i32.ne (call $read (i32.const 0) (global.get $params) (i32.const 0) (global.get $n)) (global.get $n))
      (then unreachable))
    (global.set $free (i32.add (global.get $params) (global.get $n)))
    (global.set $name (call $space (global.get $params) (global.get $n)))
    (if (i32.lt_u (global.get $name) (global.get $n)) (then
      (global.set $arg (i32.add (global.get $params) (i32.add (global.get $name) (i32.const 1))))
      (global.set $arg_n (i32.sub (i32.sub (global.get $n) (global.get $name)) (i32.const 1)))))
    (call $run)))
