//go:build !linux

package memory

func reserve(n int) ([]byte, error) { return make([]byte, n), nil }

func release([]byte) {}

// populate touches the pages of a part of memory without changing it.
func populate(part []byte) { touchPages(part) }

// touched calls f with the parts of memory that somebody may have touched.
func touched(memory []byte, f func(from, to int) error) error { return f(0, len(memory)) }

// wipe makes a part of a memory zero.
func wipe(part []byte) error {
	clear(part)
	return nil
}
