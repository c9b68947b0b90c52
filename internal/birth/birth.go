// Package birth tells a file from copies of it: by its inode and the time at which it was made (SPEC C7, L6).
package birth

import (
	"fmt"
	"os"
)

// Mark is what a copy of a file does not share with it; "": unknown. It survives renames, other mount points, reboots and other machines that
// mount the same file system. So it has no number of a device.
type Mark string

// Of returns the mark of an open file. A file system that keeps no time of birth gives the inode alone, which a copy rarely has.
func Of(f *os.File) (Mark, error) {
	inode, nanoseconds, err := stat(f)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	return Mark(fmt.Sprintf("%d.%d", inode, nanoseconds)), nil
}
