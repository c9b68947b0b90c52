package sdk_test

import (
	"testing"

	"github.com/taskrt/taskrt/internal/rusttool"
)

// TestRust runs the Rust SDK's own tests and the examples of its documentation, natively.
func TestRust(t *testing.T) {
	env := rusttool.Env(t)
	for _, args := range [][]string{{"test"}, {"doc", "--no-deps"}} {
		cmd := rusttool.Command(t, append(env, "RUSTFLAGS=-D warnings", "RUSTDOCFLAGS=-D warnings"), "cargo", args...)
		cmd.Dir = "rust"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cargo %v: %v\n%s", args, err, out)
		}
	}
}
