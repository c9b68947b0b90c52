package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// reader returns an engine that only reads dir.
func reader(t testing.TB, dir string) *Engine {
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return newEngine(t, Config{
		CacheDir: dir, Clock: func() time.Time { return fixed }, Rand: zeros{}, MemoryBudget: 4 << 30, Logger: slog.New(slog.DiscardHandler),
		Compile: func(context.Context, string, int64) error { return errors.New("nobody compiles") },
	})
}

// keepImageOf compiles a module into dir, with its image, and returns the image's file.
func keepImageOf(t testing.TB, dir string, wasm []byte) string {
	t.Helper()
	e := newEngine(t, Config{CacheDir: dir, KeepImages: true, Logger: slog.New(slog.DiscardHandler)})
	load(t, e, wasm)
	return e.cache.ImagePlace(Digest(wasm))
}

// counts is a module whose _initialize writes 7 to its second page and clears what a segment has put on the first
// page. It succeeds if it finds both.
func counts() []byte {
	second, segment := []byte{0x41, 0x80, 0x80, 0x04}, []byte{0x41, 0x80, 0xc0, 0} // their addresses
	store, load := []byte{0x36, 2, 0}, []byte{0x28, 2, 0}
	wasm := wasmSpec{memory: []byte{0, 4}, exports: []wasmExport{
		{name: "_initialize", code: slices.Concat(second, []byte{0x41, 7}, store, segment, []byte{0x41, 0}, store)},
		run(slices.Concat(second, load, []byte{0x41, 7, 0x47}, segment, load, []byte{0x72})...),
	}}.build()
	data := slices.Concat([]byte{1, 0}, segment, []byte{0x0b, 1, 9})
	return slices.Concat(wasm, []byte{11, byte(len(data))}, data)
}

// summed is the file of an image, with a right checksum. The numbers runs stand behind the head.
func summed(t *testing.T, head memory.State, runs ...uint64) []byte {
	t.Helper()
	body, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	for _, n := range runs {
		file = binary.LittleEndian.AppendUint64(file, n)
	}
	sum := sha256.Sum256(file)
	return append(sum[:], file...)
}

// TestImageOfTheCache: an engine that only reads takes the memory of a module from the cache, each time it needs the
// image, and initialises nothing itself. All who need the image at once share one.
func TestImageOfTheCache(t *testing.T) {
	t.Parallel()
	dir, wasm := t.TempDir(), counts()
	place := keepImageOf(t, dir, wasm)
	e := reader(t, dir)
	m := load(t, e, wasm)
	succeeds := func() bool { return m.Run(t.Context(), Attempt{}, &fakeHost{}).Kind == Succeeded }
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if !succeeds() {
				t.Error("the image is not what _initialize makes")
			}
		})
	}
	all.Wait()
	if s := m.Instances(); s.Image != 4<<16 {
		t.Errorf("%+v", s)
	}

	// The file's content counts: nothing is initialised here.
	if err := os.WriteFile(place, summed(t, memory.State{Size: 5 << 16}), 0o600); err != nil {
		t.Fatal(err)
	}
	if !succeeds() {
		t.Error("the image was made anew while it was in use")
	}
	usedByGuests(e)
	if succeeds() {
		t.Error("_initialize has run here")
	}
	if s := m.Instances(); s.Image != 5<<16 {
		t.Errorf("the image that was larger: %+v", s)
	}
	usedByGuests(e)
	if out := m.Run(t.Context(), Attempt{MemoryBytes: 4 << 16}, &fakeHost{}); out.Kind != Succeeded {
		t.Errorf("an attempt that may have less than the image: %+v", out)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	usedByGuests(e)
	if !succeeds() {
		t.Error("without a file")
	}
	if used := usedByGuests(e); used != 0 {
		t.Errorf("%d bytes are kept", used)
	}
}

// TestDamagedImage: a file in which a byte has changed, a file that was cut, and a file that cannot be this module's
// cost time only.
func TestDamagedImage(t *testing.T) {
	t.Parallel()
	dir, wasm := t.TempDir(), counts()
	place := keepImageOf(t, dir, wasm)
	whole, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	succeeds := func(what string, file []byte) {
		t.Helper()
		if err := os.WriteFile(place, file, 0o600); err != nil {
			t.Fatal(err)
		}
		e := reader(t, dir)
		m := load(t, e, wasm)
		for range 2 {
			if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
				t.Errorf("%s: %+v", what, out)
			}
		}
		if _, err := m.pool.readImage(); err == nil || !m.pool.uncached.Load() {
			t.Errorf("%s: it was taken", what)
		}
	}
	for at := 0; at < len(whole); at += max(1, len(whole)/40) {
		damaged := slices.Clone(whole)
		damaged[at] ^= 1
		succeeds("a flipped bit", damaged)
		succeeds("a cut", whole[:at])
	}
	page := uint64(os.Getpagesize())
	for what, file := range map[string][]byte{
		"no page of wasm":        summed(t, memory.State{Size: 4<<16 + 1}),
		"less than its memory":   summed(t, memory.State{Size: 3 << 16}),
		"too large":              summed(t, memory.State{Size: manifest.MaxMemoryBytes + wasmbin.PageSize}),
		"globals":                summed(t, memory.State{Size: 4 << 16, Globals: []uint64{1}}),
		"half a run":             summed(t, memory.State{Size: 4 << 16}, 1),
		"a run of nothing":       summed(t, memory.State{Size: 4 << 16}, 0, 0),
		"a run without end":      summed(t, memory.State{Size: 4 << 16}, 0, page),
		"a run beyond":           summed(t, memory.State{Size: 4 << 16}, append([]uint64{4 << 16, page}, make([]uint64, page/8)...)...),
		"longer than its memory": summed(t, memory.State{Size: 4 << 16}, append([]uint64{0, 5 << 16}, make([]uint64, 5<<16/8)...)...),
		"far beyond":             summed(t, memory.State{Size: 4 << 16}, append([]uint64{-page & (1<<64 - 1), page}, make([]uint64, page/8)...)...),
		"amid a page":            summed(t, memory.State{Size: 4 << 16}, append([]uint64{8, page}, make([]uint64, page/8)...)...),
		"no head":                append(func() []byte { s := sha256.Sum256([]byte{9, 0, 0, 0}); return s[:] }(), 9, 0, 0, 0),
	} {
		succeeds(what, file)
	}
}

// TestImageTooLarge: an image that is too large for a file is made where it is used.
func TestImageTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wasm := wasmSpec{memory: []byte{0, 0x80, 0x10}, exports: []wasmExport{ // 2,048 pages: 128 MiB
		{name: "_initialize", code: []byte{0x41, 0, 0x41, 7, 0x41, 0x80, 0x80, 0x80, 0xc0, 0, 0xfc, 11, 0}},
		run(0x41, 0x80, 0x80, 0x80, 0x20, 0x2d, 0, 0, 0x41, 7, 0x47),
	}}.build()
	if _, err := os.Stat(keepImageOf(t, dir, wasm)); err == nil {
		t.Error("it was written")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".making-*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	m := load(t, reader(t, dir), wasm)
	if out := m.Run(t.Context(), Attempt{MemoryBytes: 128 << 20}, &fakeHost{}); out.Kind != Succeeded {
		t.Errorf("%+v", out)
	}
}

// TestNoImage: a module that gets no image where it is used gets none in the cache, either.
func TestNoImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for what, code := range map[string][]byte{"a trap": {0}, "a memory that is refused": {0x41, 0xff, 0xff, 3, 0x40, 0, 0x1a}} {
		wasm := wasmSpec{exports: []wasmExport{{name: "_initialize", code: code}, succeed}}.build()
		if _, err := os.Stat(keepImageOf(t, dir, wasm)); err == nil {
			t.Errorf("%s: it was written", what)
		}
	}
}
