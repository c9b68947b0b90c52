// Package sdk is for writing taskrt plugins in Go: WebAssembly modules whose behaviors a taskrt cluster runs.
//
//	package main
//
//	import sdk "github.com/taskrt/taskrt/plugins/sdk/go"
//
//	func init() {
//		sdk.Register(sdk.Behavior{Name: "greet", Run: greet})
//	}
//
//	func greet(c *sdk.Context) error {
//		c.SetResult([]byte(`"hello"`))
//		return nil
//	}
//
//	func main() {} // never called
//
// Build it as a WASI reactor:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o greet.wasm .
//
// Every attempt runs in a fresh copy of the module's memory as it was after init (SPEC B4): globals carry nothing from
// one task to the next. There are no files, no network and no environment (SPEC B6). Packages secrets, sdkhttp and tasks
// are for what an operator may grant beyond that. An attempt may happen more than once: a worker that dies takes its
// attempt with it. Then the task starts again on another node, from its last checkpoint if it saved one.
//
// The same code compiles for your own machine, where package sdktest runs it against a host in memory.
// Package sdkjson gives typed params and results. The core imports neither fmt nor encoding/json: a plugin that imports
// neither is 1.9 MB instead of 3.4. docs/write-a-plugin.md begins the manual.
package sdk
