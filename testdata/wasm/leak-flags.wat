;; leak-flags: answers with the flags of the standard streams, then sets others (Go's package os does). Every attempt must
;; find the same.
(module
  (import "taskrt_v1" "write" (func $write (param $ch i32) (param $ptr i32) (param $n i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func $set (param i32 i32) (result i32)))
  (memory (export "memory") 1)

  (func (export "taskrt_run") (param i32) (result i32)
    (local $fd i32)
    (loop $next
      (drop (call $get (local.get $fd) (i32.const 256)))
      (i64.store (i32.mul (local.get $fd) (i32.const 8)) (i64.load (i32.const 256)))
      (i32.store8 (i32.add (local.get $fd) (i32.const 24)) (call $set (local.get $fd) (i32.const 5))) ;; append, nonblock
      (br_if $next (i32.lt_u (local.tee $fd (i32.add (local.get $fd) (i32.const 1))) (i32.const 3))))
    (drop (call $write (i32.const 16) (i32.const 0) (i32.const 27)))
    (i32.const 0)))
