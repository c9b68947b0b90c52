package paced_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api/server/paced"
)

// TestReceive: bodies of all lengths arrive whole, whether their length is known or not. What one body has outgrown
// serves others, and no two bodies that are kept share their bytes.
func TestReceive(t *testing.T) {
	t.Parallel()
	const limit, budget = 5 << 20, 1 << 30
	all := semaphore.NewWeighted(budget)
	random := rand.New(rand.NewPCG(1, 2))
	into := make([]byte, 0, paced.FirstPiece+1)
	type kept struct{ got, want []byte }
	var bodies []kept
	for _, length := range []int{0, 1, paced.FirstPiece - 1, paced.FirstPiece, paced.FirstPiece + 1, 300_000, 4 * (paced.FirstPiece + 1), 1 << 20, limit} {
		for _, most := range []int{length, limit} {
			for _, first := range [][]byte{nil, into} {
				want := make([]byte, length)
				for i := range want {
					want[i] = byte(random.Uint32())
				}
				got, release, err := paced.Receive(all, iotest.HalfReader(bytes.NewReader(want)), int64(most), first)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes of at most %d: %d, %v", length, most, len(got), err)
				}
				release()
				if first == nil || length > paced.FirstPiece {
					bodies = append(bodies, kept{got, want})
				}
			}
		}
	}
	for i, b := range bodies {
		if !bytes.Equal(b.got, b.want) {
			t.Errorf("body %d, of %d bytes, was written over", i, len(b.want))
		}
	}
	if !all.TryAcquire(budget) {
		t.Error("something of the budget was not given back")
	}
}

// TestReceiveFails: what was received of a body that fails, or for which no budget is left, counts no longer.
func TestReceiveFails(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	all := semaphore.NewWeighted(budget)
	broken := errors.New("broken")
	for what, c := range map[string]struct {
		from io.Reader
		want error
	}{
		"the connection breaks": {io.MultiReader(bytes.NewReader(make([]byte, 100_000)), iotest.ErrReader(broken)), broken},
		"the budget ends":       {bytes.NewReader(make([]byte, budget)), paced.ErrBudget},
	} {
		if _, _, err := paced.Receive(all, c.from, budget, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if !all.TryAcquire(budget) {
			t.Fatalf("%s: something of the budget was not given back", what)
		}
		all.Release(budget)
	}
}

// BenchmarkReceive: what a body of 300,000 bytes takes besides itself.
func BenchmarkReceive(b *testing.B) {
	all, body := semaphore.NewWeighted(1<<30), make([]byte, 300_000)
	b.ReportAllocs()
	for b.Loop() {
		_, release, err := paced.Receive(all, bytes.NewReader(body), int64(len(body)), nil)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
