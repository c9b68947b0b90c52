package rpc

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzReadFrame: frames of a peer: each is refused, or is as long as it says. The memory is that of the bytes that came.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 2})
	f.Add([]byte{0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 2, 'a', 'b', 'c'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 2})
	f.Add([]byte{0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2})
	f.Add(framed(maxFrame-frameHead, []byte("ten bytes.")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		cost := allocated(func() {
			r := bufio.NewReader(bytes.NewReader(stream))
			read := 0
			for {
				fr, err := readFrame(r)
				if err != nil {
					return
				}
				if read += frameHead + len(fr.body); read > len(stream) {
					t.Fatalf("%d bytes of %d were read", read, len(stream))
				}
			}
		})
		if most := uint64(1<<20 + 4*len(stream)); cost > most {
			t.Fatalf("%d bytes made the reader allocate %d, more than %d", len(stream), cost, most)
		}
	})
}
