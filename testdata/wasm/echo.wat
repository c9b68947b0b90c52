;; echo: the result is the params. The example of abi/README.md.
(module
  (import "taskrt_v1" "len" (func $len (param $ch i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $n i32)
    (local.set $n (call $len (i32.const 0)))               ;; channel 0: params
    (if (i32.gt_u (local.get $n) (i32.const 131072))       ;; more than the two pages of memory
      (then (return (i32.const 2))))                       ;; permanent failure
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 0) (local.get $n)))
    (if (i32.lt_s (call $write (i32.const 16) (i32.const 0) (local.get $n)) (i32.const 0)) ;; channel 16: result
      (then (return (i32.const 2))))                       ;; E2BIG: over the limit for results
    (i32.const 0)))                                        ;; ok
