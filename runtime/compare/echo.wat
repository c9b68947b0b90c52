;; Echoes its input as plugins of Extism's PDKs do: loads it in pieces of 8 bytes, and stores them in a block of the kernel's memory.
(module
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_load_u64" (func $load (param i64) (result i64)))
  (import "extism:host/env" "input_load_u8" (func $load8 (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
  (import "extism:host/env" "store_u8" (func $store8 (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)

  (func (export "echo") (result i32)
    (local $n i64) (local $i i64) (local $to i64)
    (local.set $n (call $length))
    (block $loaded
      (loop $next
        (br_if $loaded (i64.gt_u (i64.add (local.get $i) (i64.const 8)) (local.get $n)))
        (i64.store (i32.wrap_i64 (local.get $i)) (call $load (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 8)))
        (br $next)))
    (block $read
      (loop $next
        (br_if $read (i64.ge_u (local.get $i) (local.get $n)))
        (i32.store8 (i32.wrap_i64 (local.get $i)) (call $load8 (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
    (local.set $to (call $alloc (local.get $n)))
    (local.set $i (i64.const 0))
    (block $stored
      (loop $next
        (br_if $stored (i64.gt_u (i64.add (local.get $i) (i64.const 8)) (local.get $n)))
        (call $store (i64.add (local.get $to) (local.get $i)) (i64.load (i32.wrap_i64 (local.get $i))))
        (local.set $i (i64.add (local.get $i) (i64.const 8)))
        (br $next)))
    (block $written
      (loop $next
        (br_if $written (i64.ge_u (local.get $i) (local.get $n)))
        (call $store8 (i64.add (local.get $to) (local.get $i)) (i32.load8_u (i32.wrap_i64 (local.get $i))))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
    (call $output (local.get $to) (local.get $n))
    (i32.const 0)))
