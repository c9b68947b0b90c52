// Package wasmbin reads just enough of a wasm binary to refuse what taskrt will not run: header, sections, imports,
// exports, the memory, counts. It needs only the bytes, and works before anything is compiled. It does not validate
// code; the compiler does. No input makes it panic or allocate more than a small multiple of the input's size.
package wasmbin
