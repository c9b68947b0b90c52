package memory

import "golang.org/x/sys/unix"

// reserve maps n bytes of zeros. Pages take up memory once they are touched.
func reserve(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
}

func release(region []byte) {
	if err := unix.Munmap(region); err != nil {
		panic("runtime: munmap of our own mapping: " + err.Error())
	}
}

// populate touches the pages of a part of memory, which begins at a page, without changing them. It may take long,
// but holds up nobody.
func populate(part []byte) {
	if unix.Madvise(part, unix.MADV_POPULATE_WRITE) != nil { // since Linux 5.14
		touchPages(part)
	}
}

// wipe makes a part of a memory, which begins at a page, zero, as it was before anybody touched it.
func wipe(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	return unix.Madvise(part, unix.MADV_DONTNEED)
}
