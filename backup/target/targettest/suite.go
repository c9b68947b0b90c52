// Package targettest says what a target of backups must do. Every kind of target is put through it.
package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup/target"
)

// names lists a folder.
func names(t *testing.T, to target.Target, folder string) (all []string) {
	t.Helper()
	for o, err := range to.List(t.Context(), folder) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %d", o.Name, o.Size))
		if age := time.Since(o.Modified); age < -time.Hour || age > time.Hour {
			t.Errorf("%s was modified %v ago", o.Name, age)
		}
	}
	slices.Sort(all)
	return all
}

// read reads an object.
func read(t *testing.T, to target.Target, name string) []byte {
	t.Helper()
	in, err := to.Get(t.Context(), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	b, err := io.ReadAll(in)
	if err := errors.Join(err, in.Close()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

// Test puts a target through the contract. The target is empty.
func Test(t *testing.T, to target.Target) {
	t.Run("objects", func(t *testing.T) { objects(t, to) })
	t.Run("create", func(t *testing.T) { create(t, to) })
	t.Run("broken", func(t *testing.T) { broken(t, to) })
}

// objects are written, read, listed and deleted.
func objects(t *testing.T, to target.Target) {
	ctx := t.Context()
	if all := names(t, to, "a/"); all != nil {
		t.Errorf("an empty target has %v", all)
	}
	if _, err := to.Get(ctx, "a/x"); !errors.Is(err, target.ErrNotThere) {
		t.Errorf("what is not there: %v", err)
	}
	large := make([]byte, 40<<20+3)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(large)
	for _, x := range []struct {
		name string
		data []byte
		size int64
	}{{"a/b/empty", nil, 0}, {"a/b/small", []byte("small"), 5}, {"a/unknown", []byte("unknown"), -1}, {"a/large", large, -1}, {"a/b/whole", large[:17<<20], 17 << 20}, {"c/other", []byte("1"), 1}} {
		if err := to.Put(ctx, x.name, io.MultiReader(bytes.NewReader(x.data)), x.size); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if !bytes.Equal(read(t, to, x.name), x.data) {
			t.Errorf("%s comes back as something else", x.name)
		}
	}
	if got, want := fmt.Sprint(names(t, to, "a/")), fmt.Sprint([]string{"a/b/empty 0", "a/b/small 5", fmt.Sprint("a/b/whole ", 17<<20), fmt.Sprint("a/large ", len(large)), "a/unknown 7"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if all, err := to.Folders(ctx, ""); err != nil || fmt.Sprint(all) != "[a c]" {
		t.Errorf("folders %v, %v", all, err)
	}
	if all, err := to.Folders(ctx, "a/"); err != nil || fmt.Sprint(all) != "[b]" {
		t.Errorf("folders of a: %v, %v", all, err)
	}
	for range 2 {
		if err := to.Delete(ctx, "a/large"); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if len(names(t, to, "a/")) != 4 {
		t.Errorf("after a delete: %v", names(t, to, "a/"))
	}
	if _, err := target.Small(ctx, to, "a/b/whole"); err == nil {
		t.Error("a large object is taken for a small one")
	}
	if b, err := target.Small(ctx, to, "a/b/small"); err != nil || string(b) != "small" {
		t.Errorf("%q, %v", b, err)
	}
}

// create: of many at once one creates an object, and its content stays.
func create(t *testing.T, to target.Target) {
	const callers = 8
	var mu sync.Mutex
	var winners []string
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 2000)
			created, err := to.Create(t.Context(), "e/one", []byte(text))
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
			if created {
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, text)
			}
		})
	}
	all.Wait()
	if len(winners) != 1 || string(read(t, to, "e/one")) != winners[0] {
		t.Errorf("%d have created it", len(winners))
	}
	if created, err := to.Create(t.Context(), "e/one", nil); created || err != nil {
		t.Errorf("an empty one over it: %v, %v", created, err)
	}
	if created, err := to.Create(t.Context(), "e/empty", nil); !created || err != nil {
		t.Errorf("an empty one: %v, %v", created, err)
	}
	if all := names(t, to, "e/"); fmt.Sprint(all) != "[e/empty 0 e/one 2000]" {
		t.Errorf("%v", all)
	}
}

// stops is a reader that fails behind its text.
type stops struct {
	io.Reader
	err error
}

func (s stops) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = s.err
	}
	return n, err
}

// broken: what was not written to its end is not there, and leaves nothing for long.
func broken(t *testing.T, to target.Target) {
	boom := errors.New("boom")
	for name, size := range map[string]int64{"f/unknown": -1, "f/known": 20 << 20} {
		text := make([]byte, 18<<20)
		if err := to.Put(t.Context(), name, stops{bytes.NewReader(text), boom}, size); !errors.Is(err, boom) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := to.Put(t.Context(), "f/short", strings.NewReader("short"), 6); err == nil {
		t.Error("too short an object is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := to.Put(ctx, "f/cancelled", strings.NewReader("text"), 4); err == nil {
		t.Error("an object is written in spite of its context")
	}
	if all := names(t, to, "f/"); all != nil {
		t.Errorf("broken writes have left %v", all)
	}
	if err := to.Sweep(t.Context(), "f/", time.Hour); err != nil {
		t.Errorf("sweep: %v", err)
	}
}
