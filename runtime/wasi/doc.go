// Package wasi is WASI preview 1 (wasi_snapshot_preview1) as guests of taskrt see it: all 46 functions of the specification, over
// a world that has three streams, two clocks, randomness, arguments and an environment, and no files, sockets or signals.
//
// What differs from attempt to attempt, and all that takes time, is the Process's: the functions keep nothing, so that an instance may
// serve one process after another. No call takes longer than its Process allows: whatever is proportional to lengths that a guest
// gives goes in pieces, each of which is charged first.
//
// See https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md. DESIGN.md says what is chosen where it says
// nothing.
package wasi
