package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
)

// pattern is a file of any size that is stored nowhere.
type pattern struct {
	reads   int
	largest int
}

func (p *pattern) ReadAt(b []byte, off int64) (int, error) {
	p.reads++
	p.largest = max(p.largest, len(b))
	const head = "pieces "
	for i := range b {
		at := off + int64(i)
		if at < int64(len(head)) {
			b[i] = head[at]
			continue
		}
		b[i] = byte(at)
	}
	return len(b), nil
}

// TestParamsAreReadInPieces: a guest reads 16 MiB of params that are never in the host's memory, neither as a whole
// nor piece by piece.
func TestParamsAreReadInPieces(t *testing.T) {
	const size = 16 << 20
	m := load(t, newEngine(t, Config{}), guestFile(t, "conformance-wat"))
	file := &pattern{}
	run := func() Outcome {
		return m.Run(t.Context(), Attempt{ParamsFrom: &Source{ReaderAt: file, Size: size}, MemoryBytes: 256 << 10}, &fakeHost{})
	}
	run() // what is made once
	file.reads, file.largest = 0, 0
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	out := run()
	goruntime.ReadMemStats(&after)

	whole := make([]byte, size)
	if _, err := (&pattern{}).ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	var sum uint32
	for _, b := range whole {
		sum += uint32(b)
	}
	if want := fmt.Sprint(size, " ", sum); string(out.Result) != want {
		t.Fatalf("got %v %q %s, want %q", out.Kind, out.Result, out.Message, want)
	}
	if n := size/4096 + 1; file.reads != n || file.largest != 4096 {
		t.Errorf("%d reads, the largest of %d bytes; want %d of 4096", file.reads, file.largest, n)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size/2 {
		t.Errorf("the host allocated %d bytes for params of %d", got, size)
	}
}

type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }

// TestInputThatBreaks: an input that breaks ends the guest, because a guest that looks at no status must not go on
// with memory that holds nothing.
func TestInputThatBreaks(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "echo"))
	out := m.Run(t.Context(), Attempt{ParamsFrom: &Source{broken{errors.New("disk on fire")}, 10}}, &fakeHost{})
	if out.Kind != Failed || !out.Retryable || out.Code != CodeHandlerError || out.HasResult || !strings.Contains(out.Message, "disk on fire") {
		t.Errorf("got %+v", out)
	}
}
