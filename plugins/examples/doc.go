// Package examples holds plugins in Go, one per folder. wordcount, primes and flaky are tasks; word-count-op, build-index and
// validate-table are operations. These six are committed as testdata/wasm/NAME.wasm (build.sh makes them). image-thumbnail,
// regex-scan and split-text, which submits other tasks, are tasks that are not committed. conformance is the guest that proves the Go SDK.
// tablegen is the program that makes a table for the examples that work on one. Some examples share words and table.
//
// The folders that end in -rust, -c and -as hold the same in Rust, C and AssemblyScript; csv-to-json and http-check are in C. The tests
// build them. The package itself is only their test: it runs the modules in package runtime, as a worker does.
package examples
