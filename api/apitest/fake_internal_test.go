package apitest

import (
	"errors"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/worker"
)

// TestFakeHasNoBlob: the worker learns that a blob is stored nowhere, as it does from a node. So a task that needs the blob fails,
// and is not given back to be tried for ever.
func TestFakeHasNoBlob(t *testing.T) {
	f := NewFake()
	t.Cleanup(f.Close)
	b := blobs{f}
	if _, err := b.Open(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, worker.ErrNoBlob) {
		t.Errorf("no such blob: %v", err)
	}
	digest, err := b.Put(t.Context(), []byte("there"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Open(t.Context(), digest)
	if err != nil || got.Size() != 5 {
		t.Fatalf("a blob that was put: %v, %v", got, err)
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
}
