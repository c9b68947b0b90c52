package examples_test

import (
	"testing"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/astool"
)

// TestAssemblyScriptConformance builds the conformance guest in AssemblyScript from source and lets the suite of the ABI judge it:
// the proof of the AssemblyScript SDK.
func TestAssemblyScriptConformance(t *testing.T) {
	slow(t)
	t.Parallel()
	abitest.Run(t, astool.Build(t, "conformance-as"))
}
