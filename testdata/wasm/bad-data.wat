;; bad-data: its second data segment ends behind the memory: the module cannot be instantiated.
(module
  (memory (export "memory") 1)
  (func (export "taskrt_run") (param i32) (result i32) (i32.const 0))
  (data (i32.const 0) "fits")
  (data (i32.const 65530) "does not"))
