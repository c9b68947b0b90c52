package sdk

import (
	"runtime"
	"unsafe"

	"github.com/taskrt/taskrt/abi"
)

// The host copies before an import returns, so a pointer need only live for the call.

//go:wasmimport taskrt_v1 len
func hostLen(ch int32) int32

//go:wasmimport taskrt_v1 read
//go:noescape
func hostRead(ch int32, ptr unsafe.Pointer, off, n int32) int32

//go:wasmimport taskrt_v1 write
//go:noescape
func hostWrite(ch int32, ptr unsafe.Pointer, n int32) int32

//go:wasmimport taskrt_v1 log
//go:noescape
func hostLog(level int32, ptr unsafe.Pointer, n int32)

//go:wasmimport taskrt_v1 beat
func hostBeat(done, total int64) int32

//go:wasmimport taskrt_v1 signals
func hostSignals() int32

//go:wasmimport taskrt_v1 clock
func hostClock(id int32) int64

//go:wasmimport taskrt_v1 call
//go:noescape
func hostCall(op int32, ptr unsafe.Pointer, n int32) int32

// imports is the host of a guest: the functions of abi.Module.
type imports struct{}

func ptr(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }

func (imports) Len(ch abi.Channel) int32 { return hostLen(int32(ch)) }

func (imports) Read(ch abi.Channel, off int32, p []byte) int32 {
	return hostRead(int32(ch), ptr(p), off, int32(len(p)))
}

func (imports) Write(ch abi.Channel, p []byte) int32 {
	return hostWrite(int32(ch), ptr(p), int32(len(p)))
}

func (imports) Log(level int32, msg []byte) { hostLog(level, ptr(msg), int32(len(msg))) }

func (imports) Beat(done, total int64) int32 { return hostBeat(done, total) }

func (imports) Signals() int32 { return hostSignals() }

func (imports) Clock(id int32) int64 { return hostClock(id) }

func (imports) Call(op abi.Op, payload []byte) int32 {
	return hostCall(int32(op), ptr(payload), int32(len(payload)))
}

// taskrtRun is the export that runs one attempt. The Gosched lets the collector's workers run, which a short call
// otherwise never does: an instance that serves many attempts would leak to death (docs/architecture.md#go-guests-leak-without-gosched).
//
//go:wasmexport taskrt_run
func taskrtRun(index int32) int32 {
	defer runtime.Gosched()
	return int32(run(imports{}, index))
}

// taskrtDescribe is the export that writes the manifest; the host calls it once, at upload.
//
//go:wasmexport taskrt_describe
func taskrtDescribe() { describe(imports{}) }
