// Package runtime runs one attempt of one wasm module: validate, compile, fresh memory, host functions, limits, kill.
// It knows nothing of tasks, leases or clusters, so that `taskrt run x.wasm` and plugin tests need no cluster.
//
//	Engine.Inspect   an upload: is the file acceptable, what is its manifest (SPEC B1, B2)
//	Engine.Load      compile ahead of use, once per digest, with a cache on disk
//	Module.Run       one attempt; returns an Outcome, and only when no guest code runs any more (SPEC L1)
//
// Read abi/README.md for what a guest sees and DESIGN.md for why it is so.
package runtime
