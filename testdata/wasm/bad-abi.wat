;; bad-abi: imports from the ABI's next major version; refused at upload (abi_version).
(module
  (import "taskrt_v2" "len" (func $len (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (drop (call $len (i32.const 0)))
    (i32.const 0)))
