package bulk

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/jobs"
)

// TestSelection: a selection of more than one blob is read blob by blob, in any order, and what is damaged is not taken for numbers (SPEC Q3).
func TestSelection(t *testing.T) {
	t.Parallel()
	kept := [][]byte{}
	w := writer{put: func(data []byte) (string, error) {
		kept = append(kept, slices.Clone(data))
		return string(rune('a' + len(kept) - 1)), nil
	}}
	number := func(i int) uint64 { return uint64(i)*3 + 1 + uint64(i/1000)*1_000_000 }
	const n = jobs.PerBlob + 3
	for i := range n {
		if err := w.add(number(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.flush(); err != nil || w.flush() != nil || w.count != n || !slices.Equal(w.blobs, []string{"a", "b"}) {
		t.Fatalf("%v, %d numbers in %v", err, w.count, w.blobs)
	}
	for b := range slices.Backward(kept) {
		got, err := numbers(kept[b])
		if err != nil || len(got) != min(jobs.PerBlob, n-b*jobs.PerBlob) {
			t.Fatalf("blob %d: %d numbers, %v", b, len(got), err)
		}
		for i, x := range got {
			if want := number(b*jobs.PerBlob + i); x != want {
				t.Fatalf("number %d of blob %d is %d, want %d", i, b, x, want)
			}
		}
	}
	for name, data := range map[string][]byte{
		"cut off": {0x80}, "twice the same": {1, 0}, "too long a number": slices.Repeat([]byte{0xff}, 11),
		"more than all numbers": binary.AppendUvarint([]byte{2}, 1<<64-1), "more than fit": slices.Repeat([]byte{1}, jobs.PerBlob+1),
	} {
		if got, err := numbers(data); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %d numbers, %v", name, len(got), err)
		}
	}
}
