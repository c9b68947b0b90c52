;; grow: takes one page of memory after the other, touches each, and dies when it gets no more.
(module
  (memory (export "memory") 1)
  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (local $page i32)
    (loop $again
      (local.set $page (memory.grow (i32.const 1)))
      (if (i32.ne (local.get $page) (i32.const -1))
        (then
          (i32.store (i32.shl (local.get $page) (i32.const 16)) (i32.const 1))
          (br $again))))
    unreachable))
