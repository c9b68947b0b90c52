// Package compiler checks and compiles modules in processes that each do one job and end (SPEC L5): what hostile code does to
// the compiler, or by it, costs that process only. Service is the side of the server, Run the process.
package compiler
