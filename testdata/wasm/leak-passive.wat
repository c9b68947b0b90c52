;; leak-passive: copies a passive segment over what stands in memory, and answers with what stood there. Nothing is dropped, so
;; that its memory is all that there is to restore.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (data $other "after")
  (data (i32.const 0) "first")
  (func (export "taskrt_run") (param i32) (result i32)
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 5)))
    (memory.init $other (i32.const 0) (i32.const 0) (i32.const 5))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 5)))
    (i32.const 0)))
