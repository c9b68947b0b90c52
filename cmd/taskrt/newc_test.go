package main

import (
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
)

// TestNewC makes a plugin in C, which builds and whose tests pass, and looks at its module.
func TestNewC(t *testing.T) {
	t.Parallel()
	clang := ctool.Clang(t)
	dir, taskrt := newSquares(t, "c")
	makeSquares(t, dir, "CLANG="+clang, "TASKRT="+taskrt, "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror")
	wantSquares(t, dir, 512<<10)
}
