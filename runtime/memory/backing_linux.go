package memory

import (
	"context"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// backing holds the memory of an image in a sealed memfd. Instances map it privately, so a page to which no instance
// has written exists once.
type backing struct {
	fd   int
	view []byte // shared, read only
	how  Restoring
}

// newBacking copies memory, which begins at a page, and ends with ctx. For Scan, memory must be a mapping of its own:
// pages that nobody has touched are not read.
func newBacking(ctx context.Context, memory []byte, how Restoring) (*backing, error) {
	if how == Scan && pagemap() < 0 {
		how = Remap
	}
	fd, err := unix.MemfdCreate("taskrt-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("runtime: memfd: %w", err)
	}
	b := &backing{fd: fd, how: how}
	if err := b.fill(ctx, memory); err != nil {
		b.close()
		return nil, fmt.Errorf("runtime: image of %d bytes: %w", len(memory), err)
	}
	return b, nil
}

func (b *backing) fill(ctx context.Context, memory []byte) (err error) {
	if err := unix.Ftruncate(b.fd, int64(len(memory))); err != nil {
		return err
	}
	pages := func(from, to int) error { return b.copyPages(ctx, memory, from, to) }
	if b.how == Scan {
		err = touched(memory, pages)
	} else {
		err = pages(0, len(memory))
	}
	if err != nil {
		return err
	}
	// From here on nobody can change it, not even a bug of ours.
	_, err = unix.FcntlInt(uintptr(b.fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE|unix.F_SEAL_SEAL)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if len(memory) > 0 {
		b.view, err = unix.Mmap(b.fd, 0, len(memory), unix.PROT_READ, unix.MAP_SHARED)
	}
	return err
}

// touched calls f with the parts of memory, a mapping of its own, that somebody may have touched. A gigabyte may have
// few such parts, and reading the rest would take longer than many an attempt.
func touched(memory []byte, f func(from, to int) error) error {
	if len(memory) == 0 {
		return nil
	}
	if pagemap() < 0 {
		return f(0, len(memory))
	}
	var ranges [64]pageRegion
	base := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	for begin := 0; begin < len(memory); {
		n, err := scanPages(pagemap(), memory[begin:], ranges[:], 0)
		if err != nil || n == 0 {
			return err
		}
		for _, r := range ranges[:n] {
			from, to := int(uintptr(r.start)-base), int(uintptr(r.end)-base)
			if err := f(from, to); err != nil {
				return err
			}
			begin = to
		}
	}
	return nil
}

// copyPages copies a part of memory. Pages of zeros stay holes.
func (b *backing) copyPages(ctx context.Context, memory []byte, from, to int) error {
	const piece = 1 << 20
	for at := from; at < to; at += piece {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := pageRuns(memory, at, min(at+piece, to), func(from, to int) error {
			if n, err := unix.Pwrite(b.fd, memory[from:to], int64(from)); err != nil || n != to-from {
				return fmt.Errorf("%d of %d bytes written: %w", n, to-from, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attach replaces the beginning of region, whatever it held.
func (b *backing) attach(region []byte) error {
	if len(b.view) == 0 {
		return nil
	}
	_, err := unix.MmapPtr(b.fd, 0, unsafe.Pointer(&region[0]), uintptr(len(b.view)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	return err
}

// restore makes the beginning of region equal to the image again, and makes zero what a guest has grown the memory
// by. kept is how many bytes of region are not shared.
func (b *backing) restore(region []byte) (kept int64, err error) {
	if len(region) == 0 {
		return 0, nil
	}
	switch b.how {
	case Copy:
		b.copyTo(region, 0)
		return int64(len(region)), nil
	case Scan:
		return b.copyBack(region)
	}
	return 0, unix.Madvise(region, unix.MADV_DONTNEED)
}

// copyTo gives a part of the memory, which begins at off, the image's content.
func (b *backing) copyTo(part []byte, off uintptr) {
	n := 0
	if off < uintptr(len(b.view)) {
		n = copy(part, b.view[off:])
	}
	clear(part[n:])
}

// copyBack gives the private pages of region the image's content, up to keptPages of them, and drops the private
// pages behind.
func (b *backing) copyBack(region []byte) (kept int64, err error) {
	var ranges [keptPages]pageRegion
	base := uintptr(unsafe.Pointer(&region[0]))
	n, err := scanPages(pagemap(), region, ranges[:], keptPages)
	if err != nil {
		return 0, err
	}
	end := uintptr(0)
	for _, r := range ranges[:n] {
		from, to := uintptr(r.start)-base, uintptr(r.end)-base
		b.copyTo(region[from:to], from)
		kept += int64(to - from)
		end = to
	}
	if page := int64(os.Getpagesize()); kept < keptPages*page {
		return kept, nil // that was all
	}
	if rest := region[end:]; len(rest) > 0 {
		err = unix.Madvise(rest, unix.MADV_DONTNEED)
	}
	return kept, err
}

func (b *backing) close() {
	if b.view != nil {
		release(b.view)
		b.view = nil
	}
	_ = unix.Close(b.fd) // nothing can be lost
}

// pageRegion and scanArgument are struct page_region and struct pm_scan_arg of linux/fs.h.
type pageRegion struct{ start, end, categories uint64 }

type scanArgument struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages   uint64
	categoryInverted, categoryMask, categoryAnyOf, returnMask uint64
}

const (
	pagemapScan = 0xc0606610 // PAGEMAP_SCAN, since Linux 6.7
	pageFile    = 1 << 2     // PAGE_IS_FILE: of the file, not private
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
)

// scanPages finds the pages of a private mapping that do not belong to its file: pages that are present or swapped,
// and anonymous. It stops after most pages or when ranges is full, and returns how many ranges it found.
func scanPages(fd int, region []byte, ranges []pageRegion, most int) (int, error) {
	start := uint64(uintptr(unsafe.Pointer(&region[0])))
	arg := scanArgument{
		start: start, end: start + uint64(len(region)),
		vec: uint64(uintptr(unsafe.Pointer(&ranges[0]))), vecLen: uint64(len(ranges)), maxPages: uint64(most),
		categoryInverted: pageFile, categoryMask: pageFile, categoryAnyOf: pagePresent | pageSwapped,
		returnMask: pagePresent | pageSwapped,
	}
	arg.size = uint64(unsafe.Sizeof(arg))
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pagemapScan, uintptr(unsafe.Pointer(&arg)))
	if errno != 0 {
		return 0, fmt.Errorf("runtime: PAGEMAP_SCAN: %w", errno)
	}
	return int(n), nil
}

// Prepare opens what behind a wall around this process could not be opened any more (SPEC A10).
func Prepare() { pagemap() }

// pagemap returns a descriptor for scanPages, or -1 if this kernel does not scan as expected. The scan is tried out
// on three pages, of which one is read and one is written.
func pagemap() int {
	scanning.once.Do(func() {
		fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil && !scanWorks(fd) {
			_ = unix.Close(fd)
			fd = -1
		}
		scanning.fd = fd // -1 after an error; else open for the life of the process
	})
	return scanning.fd
}

var scanning struct {
	once sync.Once
	fd   int
}

func scanWorks(fd int) bool {
	page := os.Getpagesize()
	memory := make([]byte, 3*page)
	memory[0] = 1
	b, err := newBacking(context.Background(), memory, Copy)
	if err != nil {
		return false
	}
	defer b.close()
	region, err := reserve(len(memory))
	if err != nil {
		return false
	}
	defer release(region)
	if b.attach(region) != nil {
		return false
	}
	region[2*page] = region[0]
	var ranges [3]pageRegion
	n, err := scanPages(fd, region, ranges[:], len(ranges))
	base := uint64(uintptr(unsafe.Pointer(&region[0])))
	return err == nil && n == 1 && ranges[0].start == base+uint64(2*page) && ranges[0].end == base+uint64(3*page)
}
