package cgroup

import "golang.org/x/sys/unix"

// attribute reads an extended attribute.
func attribute(path, name string) string {
	b := make([]byte, 64)
	n, err := unix.Getxattr(path, name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}
