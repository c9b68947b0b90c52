package sdk_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestCProducts compares the C SDK's products of 128 bits, which stand in for those of a compiler's library, with Go's.
func TestCProducts(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "c/tests/products.c")})
	r := rand.New(rand.NewPCG(7, 8))
	number := func() uint64 {
		return []uint64{0, 1, math.MaxUint64, math.MaxUint32, 1 << 32, 1 << 63, r.Uint64(), r.Uint64(), r.Uint64()}[r.IntN(9)]
	}
	for range 300 {
		factors := [4]uint64{number(), number(), number(), number()} // low and high of each
		var params []byte
		for _, f := range factors {
			params = binary.LittleEndian.AppendUint64(params, f)
		}
		high, low := bits.Mul64(factors[0], factors[2])
		high += factors[1]*factors[2] + factors[0]*factors[3]
		got := m.Run(t, "products", &plugintest.Host{Params: params})
		want := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high)
		if string(got.Result) != string(want) {
			t.Fatalf("%x: got %v, want %x", factors, got, want)
		}
	}
}
