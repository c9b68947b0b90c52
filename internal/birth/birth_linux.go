package birth

import (
	"os"

	"golang.org/x/sys/unix"
)

// stat returns the inode of a file, and when it was made, in nanoseconds of Unix time; 0: unknown.
func stat(f *os.File) (inode uint64, born int64, err error) {
	var s unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return 0, 0, err
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		born = s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
	}
	return s.Ino, born, nil
}
