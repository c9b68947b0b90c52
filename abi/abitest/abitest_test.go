package abitest

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHandWrittenGuest(t *testing.T) {
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "conformance-wat.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	Run(t, wasm)
}
