package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/leash"
)

// TestConformance builds the conformance guest from source and lets the suite of the ABI judge it: the proof of the Go SDK.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	slow(t)
	file := filepath.Join(t.TempDir(), "conformance.wasm")
	cmd := leash.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", file, "./conformance")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	abitest.Run(t, wasm)
}
