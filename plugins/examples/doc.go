// Package examples holds plugins in Go, one per folder. wordcount, primes and flaky are tasks; word-count-op, build-index and
// validate-table are operations. They are committed as testdata/wasm/NAME.wasm (build.sh makes them). image-thumbnail,
// regex-scan and split-text, which submits others, are tasks that are not. conformance is the guest that proves the Go SDK, tablegen the program that makes a table
// for those that work on one; words and table are what some of them share.
//
// Those that end in -rust, -c and -as are the same in Rust, C and AssemblyScript; csv-to-json and http-check are in C. The tests
// build them. The package itself is only their test: it runs the modules in package runtime, as a worker does.
package examples
