package logstore

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
)

// BenchmarkAppend appends one entry of 512 bytes, or of a group's 64 KiB, on the disk of the temporary directory.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{512, 64 << 10} {
		for _, kind := range Kinds {
			b.Run(fmt.Sprintf("%dB/%s", size, kind), func(b *testing.B) {
				s, err := Open(b.TempDir(), kind, Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				data := bytes.Repeat([]byte("x"), size)
				b.ReportAllocs()
				i := uint64(0)
				for b.Loop() {
					i++
					if err := s.StoreLog(&raft.Log{Index: i, Term: 1, Data: data}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
