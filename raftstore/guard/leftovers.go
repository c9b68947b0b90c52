package guard

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// removePartialSnapshots removes the unfinished snapshots of processes that died. The library only logs that they are
// there, and each is as large as the state. The caller has the directory's lock.
func removePartialSnapshots(dir string, log *slog.Logger) error {
	dir = filepath.Join(dir, "snapshots")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".tmp" {
			continue
		}
		log.Info("removing a snapshot that was not finished", "name", e.Name())
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
