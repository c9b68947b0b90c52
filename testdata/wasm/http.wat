;; http: makes the request that its params describe, with the body "ping". The result is the answer of request, 4 bytes, and then the
;; error, or the head and the body of the response.
(module
  (import "taskrt_v1" "read" (func $params (param i32 i32 i32 i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param i32 i32 i32) (result i32)))
  (import "taskrt_http_v1" "request" (func $request (param $head i32) (param $n i32) (param $body i32) (param $m i32) (result i32)))
  (import "taskrt_http_v1" "len" (func $len (param $part i32) (result i32)))
  (import "taskrt_http_v1" "read" (func $read (param $part i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (memory (export "memory") 4)
  (data (i32.const 100) "ping")
  (global $early (mut i32) (i32.const 0))

  (func (export "_initialize")
    (global.set $early (i32.or (call $request (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (call $len (i32.const 0)))))

  ;; part appends a part of the exchange to the result, if it is there.
  (func $part (param $part i32) (local $n i32)
    (local.set $n (call $len (local.get $part)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return)))
    (drop (call $read (local.get $part) (i32.const 131072) (i32.const 0) (local.get $n)))
    (drop (call $write (i32.const 16) (i32.const 131072) (local.get $n))))

  (func $status (param $s i32) (result i32)
    (i32.store (i32.const 0) (local.get $s))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 4)))
    (i32.const 0))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $n i32)
    (if (i32.ne (local.get $behavior) (i32.const 0)) (then (return (call $misuse (local.get $behavior)))))
    (local.set $n (call $params (i32.const 0) (i32.const 1000) (i32.const 0) (i32.const 60000)))
    (drop (call $status (call $request (i32.const 1000) (local.get $n) (i32.const 100) (i32.const 4))))
    (call $part (i32.const 2))
    (call $part (i32.const 0))
    (call $part (i32.const 1))
    (i32.const 0))

  ;; misuse is what guests do wrong: 1 a head outside memory, 2 a body outside memory, 3 a body whose length wraps, 4 a long head, 5 what
  ;; was answered during start, 6 length of an unknown part, 7 reading before any request, 8 reading to outside memory, 9 more requests
  ;; than an attempt may make.
  (func $misuse (param $n i32) (result i32) (local $i i32) (local $s i32)
    (if (i32.eq (local.get $n) (i32.const 1))
      (then (return (call $status (call $request (i32.const 262143) (i32.const 2) (i32.const 0) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 2))
      (then (return (call $status (call $request (i32.const 0) (i32.const 0) (i32.const 262145) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 3))
      (then (return (call $status (call $request (i32.const 0) (i32.const 0) (i32.const 16) (i32.const -8))))))
    (if (i32.eq (local.get $n) (i32.const 4))
      (then (return (call $status (call $request (i32.const 0) (i32.const 32769) (i32.const 0) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 5)) (then (return (call $status (global.get $early)))))
    (if (i32.eq (local.get $n) (i32.const 6)) (then (return (call $status (call $len (i32.const 3))))))
    (if (i32.eq (local.get $n) (i32.const 7))
      (then (return (call $status (call $read (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))))))
    (if (i32.eq (local.get $n) (i32.const 8))
      (then (return (call $status (call $read (i32.const 1) (i32.const 262140) (i32.const 0) (i32.const 5))))))
    (local.set $n (call $params (i32.const 0) (i32.const 1000) (i32.const 0) (i32.const 60000)))
    (loop $next
      (local.set $s (call $request (i32.const 1000) (local.get $n) (i32.const 0) (i32.const 0)))
      (br_if $next (i32.le_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
    (call $status (local.get $s))))
