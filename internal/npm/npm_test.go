package npm_test

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/npm"
)

// TestMissing: a machine without node is told what to install.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := npm.Missing(); err == nil || !strings.Contains(err.Error(), "nodejs") {
		t.Errorf("without node: %v", err)
	}
}
