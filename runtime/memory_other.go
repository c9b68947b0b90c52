//go:build !linux

package runtime

func reserve(n int) ([]byte, error) { return make([]byte, n), nil }

func release([]byte) {}

// populate touches the pages of a part of memory without changing it.
func populate(part []byte) { touchPages(part) }
