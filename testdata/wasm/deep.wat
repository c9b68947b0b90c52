;; deep: recurses as deep as the first byte of its params says: s 10, d 100,000, o without end.
(module
  (import "taskrt_v1" "read" (func $read (param $ch i32) (param $ptr i32) (param $off i32) (param $n i32) (result i32)))
  (memory (export "memory") 1)
  (func $down (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
  (func (export "taskrt_run") (param i32) (result i32)
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1)))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x73)) (then (drop (call $down (i32.const 10)))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x64)) (then (drop (call $down (i32.const 100000)))))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x6f)) (then (drop (call $down (i32.const -1)))))
    (i32.const 0)))
