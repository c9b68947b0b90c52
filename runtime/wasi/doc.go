// Package wasi is WASI preview 1 (wasi_snapshot_preview1) as guests of taskrt see it: all 46 functions of the
// specification, over a world that has three streams, two clocks, randomness, arguments and an environment, and no
// files, sockets or signals.
//
// Everything that differs from attempt to attempt, and everything that takes time, belongs to the Process. The
// functions keep nothing, so an instance may serve one process after another. No call takes longer than its Process
// allows: work that is proportional to lengths that a guest gives is done in pieces, and each piece is charged first.
//
// See https://github.com/WebAssembly/WASI/blob/snapshot-01/phases/snapshot/docs.md. DESIGN.md says what is chosen where the
// specification says nothing.
package wasi
