package head

import (
	"bytes"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// TestHeads: what is written is what the library writes, and is read back; no shorter piece of it is.
func TestHeads(t *testing.T) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	check := func(v any, got []byte, major byte, n uint64) {
		t.Helper()
		want, err := mode.Marshal(v)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: % x, want % x (%v)", v, got[:min(len(got), 9)], want[:min(len(want), 9)], err)
		}
		length, rest, ok := Read(got, major)
		if !ok || length != n {
			t.Fatalf("%v: read %d (%v), want %d", v, length, ok, n)
		}
		for cut := range len(got) - len(rest) {
			if _, left, ok := Read(got[:cut], major); ok || len(left) != cut {
				t.Fatalf("%v: read of %d bytes", v, cut)
			}
		}
		if _, _, ok := Read(got, major^Text); ok {
			t.Fatalf("%v: read as another type", v)
		}
	}
	for _, n := range []uint64{0, 1, 23, 24, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxUint64} {
		check(n, AppendUint(nil, n), Uint, n)
		if n > math.MaxInt64 {
			continue
		}
		check(int64(n), AppendInt(nil, int64(n)), Uint, n)
		check(-1-int64(n), AppendInt(nil, -1-int64(n)), Negative, n)
		if n <= math.MaxUint16+1 {
			text := bytes.Repeat([]byte("x"), int(n))
			check(string(text), AppendText(nil, string(text)), Text, n)
			check(text, AppendBytes(nil, text), Bytes, n)
		}
	}
	for low := byte(28); low < 32; low++ {
		if _, _, ok := Read(append([]byte{Uint | low}, make([]byte, 16)...), Uint); ok {
			t.Fatalf("a head that begins with %#x", low)
		}
	}
}
