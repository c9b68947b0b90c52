// Package meter rewrites a WebAssembly module so that it counts what it executes and asks its host before it goes on.
//
// Every function entry and every loop header subtracts from a counter, and calls the imported function Import.Tick
// when the counter falls below zero. So a guest can neither loop nor recurse without passing the host now and then.
// The host may end the guest (by a panic), let others run, or give the counter its next value. The amount that is
// subtracted is the number of instructions that are about to be executed; an instruction is the unit of fuel. The
// counter is an exported global, Fuel.
//
// The guest behaves as before. It cannot name the counter, because its own indexes are those of a module without this
// global.
//
// DESIGN.md says what is charged where, and why.
package meter
