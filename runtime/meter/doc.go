// Package meter rewrites a WebAssembly module so that it counts what it executes and asks its host before it goes on.
//
// Every function entry and every loop header subtracts from a counter, and calls the imported function Import.Tick
// when the counter falls below zero. So a guest can neither loop nor recurse without passing the host now and then,
// which may end it (by a panic), let others run, or give the counter its next value. What is subtracted is the number
// of instructions that are about to be executed: the unit of fuel. The counter is an exported global, Fuel.
//
// The guest behaves as before. It cannot name the counter: its indexes are those of a module that had no such global.
//
// DESIGN.md says what is charged where, and why.
package meter
