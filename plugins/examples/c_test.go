package examples_test

import (
	"testing"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/ctool"
)

// TestCConformance builds the conformance guest in C from source and lets the suite of the ABI judge it: the proof of the C SDK.
func TestCConformance(t *testing.T) {
	t.Parallel()
	abitest.Run(t, ctool.Build(t, "conformance-c/main.c"))
}
