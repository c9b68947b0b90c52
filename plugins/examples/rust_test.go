package examples_test

import (
	"testing"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/rusttool"
)

// TestRustConformance builds the conformance guest in Rust from source and lets the suite of the ABI judge it: the proof of the
// Rust SDK.
func TestRustConformance(t *testing.T) {
	slow(t)
	t.Parallel()
	abitest.Run(t, rusttool.Build(t, "conformance-rust"))
}
