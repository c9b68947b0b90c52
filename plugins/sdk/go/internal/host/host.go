// Package host is the seam between the SDK and its host: the eight functions of ABI v1 (abi/README.md) with Go
// slices for (pointer, length), and the functions of the capabilities. In a guest they are wasm imports; in an author's native tests
// they are package sdktest.
package host

import "github.com/taskrt/taskrt/abi"

// Host is one attempt's view of the host. Statuses are as in the ABI: negative values are abi.Errno.
type Host interface {
	Len(ch abi.Channel) int32
	Read(ch abi.Channel, off int32, p []byte) int32
	Write(ch abi.Channel, p []byte) int32
	Log(level int32, msg []byte)
	Beat(done, total int64) int32
	Signals() int32
	Clock(id int32) int64
	Call(op abi.Op, payload []byte) int32
}

// Hooks are functions that package sdk lends to its siblings without making them part of the authors' API.
type Hooks struct {
	Run      func(h Host, index int32) abi.Outcome
	Describe func(h Host)
	Index    func(behavior string) (int32, bool)
	Error    func(status abi.Errno) error
}

// Installed is set by package sdk when it is initialised.
var Installed Hooks

// MarshalJSON is json.Marshal where package sdkjson is linked, else nil.
var MarshalJSON func(any) ([]byte, error)
