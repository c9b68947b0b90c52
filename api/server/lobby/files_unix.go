//go:build unix

package lobby

import "golang.org/x/sys/unix"

// openFiles is how many files this process may have open. 0: nobody knows.
func openFiles() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur) //nolint:unconvert // on some systems it has a sign
}
