package sdkhttp

import "unsafe"

//go:wasmimport taskrt_http_v1 request
//go:noescape
func hostRequest(head unsafe.Pointer, n int32, body unsafe.Pointer, m int32) int32

//go:wasmimport taskrt_http_v1 len
func partLen(part int32) int32

//go:wasmimport taskrt_http_v1 read
//go:noescape
func hostRead(part int32, to unsafe.Pointer, off, n int32) int32

func ptr(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }

func request(head, body []byte) int32 {
	return hostRequest(ptr(head), int32(len(head)), ptr(body), int32(len(body)))
}

func partRead(part, off int32, to []byte) int32 {
	return hostRead(part, ptr(to), off, int32(len(to)))
}
