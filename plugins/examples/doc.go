// Package examples holds plugins in Go, one per folder: wordcount, primes and flaky are committed as testdata/wasm/NAME.wasm
// (build.sh makes them), conformance is the guest that proves the Go SDK. The package itself is only their test: it runs
// the modules in package runtime, as a worker does.
package examples
