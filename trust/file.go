package trust

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFile bounds a file with secrets or certificates.
const maxFile = 1 << 20

// ReadFile reads a file that holds a secret. Only its owner may read it, or a group if root owns it: the error names the command that mends
// a file that others can read (SPEC A2).
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	if info.Mode().IsRegular() { // a pipe has no permissions that mean something
		if err := checkMode(name, info); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return text, err
}

func checkMode(name string, info os.FileInfo) error {
	mode := info.Mode().Perm()
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case mode&0o007 != 0, mode&0o020 != 0:
	case mode&0o040 != 0 && (!ok || stat.Uid != 0):
	default:
		return nil
	}
	return fmt.Errorf("%s can be read or written by others (mode %04o): chmod 600 %s", name, mode, name)
}
