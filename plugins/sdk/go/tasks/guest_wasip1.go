package tasks

import "unsafe"

//go:wasmimport taskrt_tasks_v1 submit
//go:noescape
func hostSubmit(child unsafe.Pointer, n int32) int32

func submit(child []byte) int32 {
	return hostSubmit(unsafe.Pointer(unsafe.SliceData(child)), int32(len(child)))
}
