// Package wasmbin reads just enough of a wasm binary to refuse what taskrt will not run, from the bytes alone and before
// anything is compiled: header, sections, imports, exports, the memory, counts. It does not validate code; the compiler
// does. No input makes it panic or allocate more than a small multiple of its size.
package wasmbin
