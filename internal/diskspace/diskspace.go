// Package diskspace asks the system how much room is left on the disk of a directory.
package diskspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Space is a file system.
type Space struct {
	Free int64 // bytes that this process may still write
	Size int64 // bytes in all
}

// Of returns the space of the file system on which a file or directory is.
func Of(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, fmt.Errorf("the space of %s: %w", path, err)
	}
	block := int64(s.Bsize) //nolint:unconvert // it is an int64 on Linux only
	return Space{Free: int64(s.Bavail) * block, Size: int64(s.Blocks) * block}, nil
}
