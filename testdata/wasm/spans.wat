;; spans: tells of what it does by spans of its own. It begins "work" with an attribute, in it "save", saves a checkpoint there and ends
;; "save"; in "work" it begins and ends "check", which failed; "work" stays open. The result is what the ops 11 and 12 answered, one byte
;; each: "0" for 0, and otherwise the digit of the status.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "call" (func $call (param $op i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)

  ;; Memory: 0 the result, 16 the checkpoint, and texts.
  (data (i32.const 16) "1")
  (data (i32.const 32) "work\nrows=3")
  (data (i32.const 64) "save")
  (data (i32.const 96) "check")
  (data (i32.const 128) "row 7 is bad")
  (global $n (mut i32) (i32.const 0))

  (func $tell (param $op i32) (param $ptr i32) (param $len i32)
    (i32.store8 (global.get $n) (i32.sub (i32.const 48) (call $call (local.get $op) (local.get $ptr) (local.get $len))))
    (global.set $n (i32.add (global.get $n) (i32.const 1))))

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (call $tell (i32.const 12) (i32.const 0) (i32.const 0))     ;; nothing is open: ENOENT
    (call $tell (i32.const 11) (i32.const 32) (i32.const 11))   ;; work
    (call $tell (i32.const 11) (i32.const 64) (i32.const 4))    ;; save
    (drop (call $call (i32.const 1) (i32.const 16) (i32.const 1)))
    (call $tell (i32.const 12) (i32.const 0) (i32.const 0))
    (call $tell (i32.const 11) (i32.const 96) (i32.const 5))    ;; check
    (call $tell (i32.const 12) (i32.const 128) (i32.const 12))
    (call $tell (i32.const 11) (i32.const 32) (i32.const 5))    ;; an attribute that is none: EINVAL
    (drop (call $write (i32.const 16) (i32.const 0) (global.get $n)))
    (i32.const 0)))
