package diskspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestOf(t *testing.T) {
	s, err := Of(t.TempDir())
	if err != nil || s.Free < 1<<20 || s.Size < s.Free { // the test itself needs more
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Of(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}
