package memory

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// newMemory returns a memory of size bytes with a byte on every second page.
func newMemory(t testing.TB, size int64) *Memory {
	t.Helper()
	m, err := New(t.Context(), NewBudget(size, func() {}), Config{Initial: size, Limit: size, Reserve: size})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	for at := 0; at < len(m.Reallocate(uint64(size))); at += 2 * os.Getpagesize() {
		m.region[at] = 7
	}
	return m
}

// file writes the file of an image of m.
func file(t testing.TB, m *Memory, s State) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := WriteFile(f, m, s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil || int64(len(data)) != size {
		t.Fatalf("%d bytes, not %d: %v", len(data), size, err)
	}
	return data
}

// TestFileOfAnImage: what was written is read again, into a memory that held something else.
func TestFileOfAnImage(t *testing.T) {
	const size = 4 * wasmPage
	m, s := newMemory(t, size), State{Size: size, Globals: []uint64{3}, Clock: 5}
	k, err := ReadFile(file(t, m, s), size)
	if err != nil || !reflect.DeepEqual(k.State, s) || k.Fits(1, size) != nil {
		t.Fatalf("%+v, %v", k, err)
	}
	if k.Fits(2, size) == nil || k.Fits(1, size+1) == nil {
		t.Error("it is taken for the image of another module")
	}
	if _, err := ReadFile(file(t, m, s), size-1); err == nil {
		t.Error("it is larger than it may be")
	}
	other := newMemory(t, size)
	for at := range other.region {
		other.region[at] = 9
	}
	if err := k.Fill(other); err != nil || !bytes.Equal(m.region, other.region) {
		t.Error("the memory is another one", err)
	}
}

func FuzzImageFile(f *testing.F) {
	const most = 4 << 30
	f.Add(file(f, newMemory(f, 4*wasmPage), State{Size: 4 * wasmPage})[sha256.Size:])
	f.Add([]byte{2, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		k, err := ReadFile(append(sum[:], data...), most)
		if err != nil || k.Fits(len(k.Globals), 0) != nil || k.Size > 1<<20 || k.Size == 0 {
			return
		}
		if err := k.Fill(newMemory(t, k.Size)); err != nil {
			t.Error(err)
		}
	})
}
