package subproc

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Content makes an open file of bytes, for a process that is to read them without being able to change them for others. It
// takes memory, not disk.
func Content(data []byte) (*os.File, error) {
	f, err := memoryFile("content")
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err == nil {
		err = seal(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("subproc: %w", err)
	}
	return f, nil
}

// ReadContent reads all of a file that Content made, of at most limit bytes, and closes it.
func ReadContent(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("subproc: %w", err)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, info.Size(), limit)
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("subproc: %w", err)
	}
	return data, nil
}

// Cells are numbers in memory that two processes share. They outlive either of them.
type Cells struct {
	file *os.File
	mem  []byte
}

const cellSize = 8

// NewCells makes n cells of 0.
func NewCells(n int) (*Cells, error) {
	f, err := memoryFile("cells")
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(int64(n) * cellSize); err != nil {
		f.Close()
		return nil, fmt.Errorf("subproc: %w", err)
	}
	return MapCells(f)
}

// MapCells maps the cells in f, which it takes over.
func MapCells(f *os.File) (*Cells, error) {
	info, err := f.Stat()
	if err == nil && info.Size() < cellSize {
		err = fmt.Errorf("%d bytes of cells", info.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("subproc: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()/cellSize*cellSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("subproc: mmap: %w", err)
	}
	return &Cells{file: f, mem: mem}, nil
}

// File is what the other process maps.
func (c *Cells) File() *os.File { return c.file }

// Len is how many there are.
func (c *Cells) Len() int { return len(c.mem) / cellSize }

// At is cell i.
func (c *Cells) At(i int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&c.mem[i*cellSize])) //nolint:gosec // aligned: the mapping begins at a page
}

// Close unmaps them. Nobody may use a cell any more.
func (c *Cells) Close() {
	_ = unix.Munmap(c.mem)
	c.mem = nil
	c.file.Close()
	runtime.KeepAlive(c.file)
}
