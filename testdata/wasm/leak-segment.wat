;; leak-segment: reads a passive segment into its result, then drops it: an attempt after it would trap.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (data $d "\01")
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))
    (data.drop $d)
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 1)))
    (i32.const 0)))
