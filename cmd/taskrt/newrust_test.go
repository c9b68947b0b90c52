package main

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/rusttool"
)

// TestNewRust makes a plugin in Rust, whose tests pass and which builds, with nothing fetched, and looks at its module.
func TestNewRust(t *testing.T) {
	t.Parallel()
	env := rusttool.Env(t)
	dir, taskrt := newSquares(t, "rust")
	run := func(program string, args ...string) string {
		cmd := rusttool.Command(t, append(env, "TASKRT="+taskrt, "RUSTFLAGS=-D warnings", "LC_ALL=C"), program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	if out := run("make", "test"); !strings.Contains(out, "4 passed") || strings.Contains(out, "was not run") {
		t.Errorf("make test ran not all:\n%s", out)
	}
	if out := run("make"); !strings.Contains(out, "up to date") {
		t.Errorf("make builds what is built:\n%s", out)
	}
	wantSquares(t, dir, 4<<20)
}
