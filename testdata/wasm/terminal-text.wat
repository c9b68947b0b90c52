;; Logs, fails and makes progress with text that a terminal would obey: escapes, a bell, carriage returns, line feeds.
(module
  (import "taskrt_v1" "write" (func $write (param i32 i32 i32) (result i32)))
  (import "taskrt_v1" "beat" (func $beat (param i64 i64) (result i32)))
  (import "taskrt_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\1b[2J\1b]0;title\07done\0dtaskrt: task ok\0aresult: fine")
  (func (export "taskrt_run") (param i32) (result i32)
    (drop (call $write (i32.const 18) (i32.const 0) (i32.const 47)))
    (call $log (i32.const 2) (i32.const 0) (i32.const 47))
    (drop (call $beat (i64.const 1) (i64.const 2)))
    (drop (call $write (i32.const 17) (i32.const 0) (i32.const 47)))
    (i32.const 2)))
