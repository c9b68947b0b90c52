;; runaway: ways to compute for ever without asking anybody. The first letter of the params, a JSON string, picks one; "n"
;; counts a million down and succeeds.
(module
  (type $unary (func (param i32) (result i32)))
  (import "taskrt_v1" "read" (func $read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 256)
  (table 1000 funcref)
  (elem (i32.const 0) func $indirect)

  (func (export "taskrt_run") (param $behavior i32) (result i32)
    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 1)))
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x6c)) (then (call $loop)))                                  ;; l
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x72)) (then (drop (call $recursion (i32.const 90)))))       ;; r
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x6d)) (then (drop (call $even (i32.const 90)))))            ;; m
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x69)) (then (drop (call $indirect (i32.const 90)))))        ;; i
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x66)) (then (call $fill)))                                  ;; f
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x63)) (then (call $copy)))                                  ;; c
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x74)) (then (call $tables)))                                ;; t
    (if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x62)) (then (call $machine)))                               ;; b
    (call $count (i32.const 1000000))
    (i32.const 0))

  (func $loop (loop $again (br $again)))

  ;; No loop, and no end within a lifetime: 2^90 calls.
  (func $recursion (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (i32.add (call $recursion (i32.sub (local.get $n) (i32.const 1))) (call $recursion (i32.sub (local.get $n) (i32.const 1)))))

  (func $even (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (i32.add (call $odd (i32.sub (local.get $n) (i32.const 1))) (call $odd (i32.sub (local.get $n) (i32.const 1)))))
  (func $odd (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 0))))
    (i32.add (call $even (i32.sub (local.get $n) (i32.const 1))) (call $even (i32.sub (local.get $n) (i32.const 1)))))

  (func $indirect (type $unary) (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (i32.add
      (call_indirect (type $unary) (i32.sub (local.get $n) (i32.const 1)) (i32.const 0))
      (call_indirect (type $unary) (i32.sub (local.get $n) (i32.const 1)) (i32.const 0))))

  (func $fill (loop $again
    (memory.fill (i32.const 0) (i32.const 7) (i32.const 0xffffff))
    (br $again)))
  (func $copy (loop $again
    (memory.copy (i32.const 1) (i32.const 0) (i32.const 0xfffffe))
    (br $again)))
  (func $tables (loop $again
    (table.fill 0 (i32.const 1) (ref.null func) (i32.const 999))
    (table.copy (i32.const 1) (i32.const 2) (i32.const 998))
    (br $again)))

  ;; As compilers of languages with goroutines or exceptions write functions: one loop around a table of states.
  (func $machine (local $state i32)
    (loop $next
      (block $two (block $one (block $zero
        (br_table $zero $one $two (local.get $state)))
        (local.set $state (i32.const 1)) (br $next))
        (local.set $state (i32.const 2)) (br $next))
      (local.set $state (i32.const 0))
      (br $next)))

  (func $count (param $n i32)
    (loop $again
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))))
