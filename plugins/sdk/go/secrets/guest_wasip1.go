package secrets

import "unsafe"

//go:wasmimport taskrt_secrets_v1 get
//go:noescape
func hostGet(name unsafe.Pointer, n int32, to unsafe.Pointer, size int32) int32

func get(name string, to []byte) int32 {
	return hostGet(unsafe.Pointer(unsafe.StringData(name)), int32(len(name)), unsafe.Pointer(unsafe.SliceData(to)), int32(len(to)))
}
