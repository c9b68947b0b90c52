// Package compiler checks and compiles modules in processes that each do one job and end (SPEC L5). Harm that hostile
// code does to the compiler, or through it, costs only its process. Service is the server's side; Run is the process.
package compiler
