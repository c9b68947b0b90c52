package main

import (
	"testing"

	"github.com/taskrt/taskrt/internal/astool"
)

// TestNewAssemblyScript makes a plugin in AssemblyScript, which builds and whose tests pass, and looks at its module.
func TestNewAssemblyScript(t *testing.T) {
	t.Parallel()
	astool.Modules(t) // node and npm are there, and what npm ci needs is in its cache
	dir, taskrt := newSquares(t, "assemblyscript")
	makeSquares(t, dir, "TASKRT="+taskrt)
	wantSquares(t, dir, 2<<20)
}
