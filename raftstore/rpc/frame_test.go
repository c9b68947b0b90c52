package rpc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
)

// framed returns a frame's bytes: the header announces a body of n bytes, and body follows.
func framed(n int, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n+frameHead-4))
	b = binary.BigEndian.AppendUint64(b, 7)
	return append(append(b, KindPropose), body...)
}

// allocated returns the bytes that the process allocated while do ran.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAnnouncedBytesCostNothing: a header announces 64 MiB, and ten bytes come.
func TestAnnouncedBytesCostNothing(t *testing.T) {
	r := bufio.NewReader(bytes.NewReader(framed(maxFrame-frameHead, make([]byte, 10))))
	cost := allocated(func() {
		if _, err := readFrame(r); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v, want %v", err, io.ErrUnexpectedEOF)
		}
	})
	if cost >= 1<<20 {
		t.Fatalf("a header and ten bytes made the reader allocate %d bytes", cost)
	}
}

// TestBodiesComeWhole: bodies around the lengths at which the reader's memory grows.
func TestBodiesComeWhole(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{0, 1, pieceOnTrust - 1, pieceOnTrust, pieceOnTrust + 1, 2 * pieceOnTrust, 2*pieceOnTrust + 1, 5*pieceOnTrust + 3} {
		want := make([]byte, n)
		_, _ = random.Read(want) // it never fails
		r := bufio.NewReader(bytes.NewReader(append(framed(n, want), "next"...)))
		f, err := readFrame(r)
		if err != nil || f.id != 7 || f.kind != KindPropose || !bytes.Equal(f.body, want) {
			t.Fatalf("a body of %d bytes: id %d, kind %d, %d bytes, error %v", n, f.id, f.kind, len(f.body), err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "next" {
			t.Fatalf("after a body of %d bytes %d bytes are left, want 4", n, len(rest))
		}
	}
}
