package runtime

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
)

// cycle is a file of any size that repeats the bytes 0 to 255.
type cycle struct{ largest int }

func (c *cycle) ReadAt(p []byte, off int64) (int, error) {
	c.largest = max(c.largest, len(p))
	for i := range p {
		p[i] = byte(off + int64(i))
	}
	return len(p), nil
}

// blobHost answers for one blob.
func blobHost(from io.ReaderAt, size int64) *fakeHost {
	return &fakeHost{call: func(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
		q, err := ParseBlobRead(payload)
		if err != nil || op != abi.OpBlobRead {
			return nil, errors.Join(err, ErrUnsupported)
		}
		return q.ReadBlob(from, size)
	}}
}

var blobName = []byte(abi.BlobPrefix + strings.Repeat("0a", 32))

// TestBlobOfAGibibyte: a guest of two pages reads a blob of a gibibyte, eight thousand times its memory. Neither the
// guest nor the host ever holds more than a piece of the blob.
func TestBlobOfAGibibyte(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 16 << 20
	}
	m := load(t, newEngine(t, Config{}), guestFile(t, "blobsum"))
	file := &cycle{}
	goruntime.GC()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	out := m.Run(t.Context(), Attempt{Params: blobName, MemoryBytes: 2 << 16}, blobHost(file, size))
	goruntime.ReadMemStats(&after)
	sum, word := uint64(0), make([]byte, 8)
	for off := int64(0); off < 256; off += 64 {
		_, _ = file.ReadAt(word, off) // never fails
		sum += uint64(size/256) * binary.LittleEndian.Uint64(word)
	}
	want := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(size)), sum)
	if out.Kind != Succeeded || !bytes.Equal(out.Result, want) {
		t.Fatalf("%v %x %s, want %x", out.Kind, out.Result, out.Message, want)
	}
	if file.largest != 1<<16 || out.PeakMemory != 2<<16 {
		t.Errorf("pieces of up to %d bytes, peak memory %d", file.largest, out.PeakMemory)
	}
	// A compilation that the test before left behind may take a hundred MiB meanwhile.
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20+size/2 {
		t.Errorf("the host's heap grew by %d bytes", grown)
	}
}

// TestBlobThatBreaks: of a blob that cannot be read any more the guest hears by a status, and may wait until it can.
// A blob that ends early does not pass for a shorter blob.
func TestBlobThatBreaks(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "blobsum"))
	for name, from := range map[string]io.ReaderAt{
		"broken": broken{errors.New("disk on fire")}, "short": bytes.NewReader(make([]byte, 100_000)),
	} {
		out := m.Run(t.Context(), Attempt{Params: blobName}, blobHost(from, 200_000))
		if out.Kind != Failed || out.Code != CodeHandlerError || !out.Retryable || out.HasResult {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestResponsesAreBounded: a host that answers with more than it was asked for does not get past the guest's buffer,
// because channel 3 is read with the guest's own length.
func TestResponsesAreBounded(t *testing.T) {
	m := load(t, newEngine(t, Config{}), guestFile(t, "blobsum"))
	host := &fakeHost{call: func(context.Context, abi.Op, []byte) ([]byte, error) { return make([]byte, abi.MaxResponse+1), nil }}
	if out := m.Run(t.Context(), Attempt{Params: blobName}, host); out.Kind != Failed || !out.Retryable {
		t.Errorf("a response over the limit: %+v", out)
	}
	host.call = func(context.Context, abi.Op, []byte) ([]byte, error) { return make([]byte, 1<<17), nil }
	if out := m.Run(t.Context(), Attempt{Params: blobName}, host); out.Kind != Failed || out.Code != CodeTrap {
		t.Errorf("more than fits into its memory: %+v", out)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"from":1,"limit":2}`))
	f.Add(append(bytes.Clone(blobName), make([]byte, 12)...))
	f.Fuzz(func(t *testing.T, payload []byte) {
		if q, err := ParseBlobRead(payload); err == nil {
			if q.Offset < 0 || q.Length < 0 || q.Length > abi.MaxResponse || len(q.Digest) != 64 {
				t.Errorf("%+v of %q", q, payload)
			}
			if data, err := q.ReadBlob(&cycle{}, 1000); err != nil || int64(len(data)) > max(0, 1000-q.Offset) {
				t.Errorf("%d bytes of %+v, %v", len(data), q, err)
			}
		}
		if p, err := ParsePartitions(payload); err == nil && (p.From < 0 || p.Limit < 1 || p.Limit > MaxPartitions) {
			t.Errorf("%+v of %q", p, payload)
		}
	})
}
