;; submits: its params are a mark and then lines, each the JSON of a child to submit. The result is the answers, 4 bytes each. Marks: "="
;; succeeds, "!" fails for good afterwards, "?" fails and may be retried, "~" yields.
(module
  (import "taskrt_v1" "read" (func $params (param i32 i32 i32 i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param i32 i32 i32) (result i32)))
  (import "taskrt_tasks_v1" "submit" (func $submit (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 8)
  (global $early (mut i32) (i32.const 0))

  (func (export "_initialize") (global.set $early (call $submit (i32.const 0) (i32.const 0))))

  (func $status (param $s i32)
    (i32.store (i32.const 0) (local.get $s))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 4))))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $end i32) (local $at i32) (local $line i32)
    (if (i32.ne (local.get $behavior) (i32.const 0)) (then (return (call $misuse (local.get $behavior)))))
    (local.set $end (i32.add (i32.const 1000) (call $params (i32.const 0) (i32.const 1000) (i32.const 0) (i32.const 500000))))
    (local.set $line (i32.const 1001))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $line) (local.get $end)))
        (local.set $at (local.get $line))
        (block $eol
          (loop $byte
            (br_if $eol (i32.ge_u (local.get $at) (local.get $end)))
            (br_if $eol (i32.eq (i32.load8_u (local.get $at)) (i32.const 10)))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (br $byte)))
        (call $status (call $submit (local.get $line) (i32.sub (local.get $at) (local.get $line))))
        (local.set $line (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.set $at (i32.load8_u (i32.const 1000)))
    (if (i32.eq (local.get $at) (i32.const 0x21)) (then (return (i32.const 2))))
    (if (i32.eq (local.get $at) (i32.const 0x3f)) (then (return (i32.const 1))))
    (if (i32.eq (local.get $at) (i32.const 0x7e)) (then (return (i32.const 4))))
    (i32.const 0))

  ;; misuse is what guests do wrong: 1 a child outside memory, 2 a length that wraps, 3 a long child, 4 what was answered during start, 5
  ;; its params as a child again and again until that is refused: the result is how often, and the refusal.
  (func $misuse (param $n i32) (result i32) (local $i i32) (local $s i32)
    (if (i32.eq (local.get $n) (i32.const 1))
      (then (call $status (call $submit (i32.const 524288) (i32.const 1))) (return (i32.const 0))))
    (if (i32.eq (local.get $n) (i32.const 2))
      (then (call $status (call $submit (i32.const 16) (i32.const -8))) (return (i32.const 0))))
    (if (i32.eq (local.get $n) (i32.const 3))
      (then (call $status (call $submit (i32.const 0) (i32.const 65537))) (return (i32.const 0))))
    (if (i32.eq (local.get $n) (i32.const 4))
      (then (call $status (global.get $early)) (return (i32.const 0))))
    (local.set $n (call $params (i32.const 0) (i32.const 1000) (i32.const 0) (i32.const 500000)))
    (loop $next
      (local.set $s (call $submit (i32.const 1000) (local.get $n)))
      (if (i32.ge_s (local.get $s) (i32.const 0))
        (then (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $next))))
    (call $status (local.get $i))
    (call $status (local.get $s))
    (i32.const 0)))
