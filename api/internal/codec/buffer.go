package codec

import "sync"

// buffers hold answers on their way into a connection.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keptBuffer is how many bytes a buffer may have to be kept for the next answer.
const keptBuffer = 256 << 10

// WithBuffer lends f an empty buffer, and keeps the buffer that f returns.
func WithBuffer(f func(b []byte) []byte) {
	kept := buffers.Get().(*[]byte)
	if b := f((*kept)[:0]); cap(b) <= keptBuffer {
		*kept = b
		buffers.Put(kept)
	}
}
