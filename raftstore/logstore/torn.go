package logstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// What raft-wal writes (segment/format.go): a header, and then frames of 8 bytes with their content, padded to 8. A
// commit frame ends an append, and holds the sum of everything since the last commit frame.
const (
	walHeader    = 32
	frameHeader  = 8
	frameEntry   = 1
	frameIndex   = 2
	frameCommit  = 3
	clearedBytes = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// clearTorn writes zeros over an append at the end of the file that a power failure has torn. raft-wal v0.4.2 only notes that such an append is not
// there, and fails later on its remains. If the append would have filled the file, the file takes no more ("segment is sealed"), and the library
// believes its index, whether it is whole or not. A later, shorter append leaves a rest of the torn append behind itself. If the power fails again in
// the middle of the shorter append, the library concludes from this rest that it had been acknowledged, and takes it for whole.
func clearTorn(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := lastCommit(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	cleared := false
	zeros, b := make([]byte, clearedBytes), make([]byte, clearedBytes)
	for at := end; ; at += clearedBytes {
		n, err := f.ReadAt(b, at)
		if !bytes.Equal(b[:n], zeros[:n]) {
			cleared = true
			if _, err := f.WriteAt(zeros[:n], at); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if !cleared {
		return nil
	}
	return f.Sync()
}

// lastCommit returns where the last whole append ends. If a whole append follows one that is not whole, the tail is not
// torn: the file has been damaged.
func lastCommit(f *os.File) (end int64, err error) {
	r := bufio.NewReaderSize(f, 1<<20)
	sum, at, torn := crc32.New(castagnoli), int64(0), false
	read := func(n int64) bool {
		k, e := io.CopyN(sum, r, n)
		if at += k; e != nil && !errors.Is(e, io.EOF) {
			err = e
		}
		return e == nil
	}
	for whole := read(walHeader); whole; {
		head, e := r.Peek(frameHeader)
		if e != nil {
			if !errors.Is(e, io.EOF) {
				err = e
			}
			break
		}
		n := int64(binary.LittleEndian.Uint32(head[4:]))
		switch head[0] {
		case frameEntry, frameIndex:
			whole = read(frameHeader + (n+frameHeader-1)/frameHeader*frameHeader)
		case frameCommit:
			if sum.Sum32() != uint32(n) {
				torn = true
			} else if torn {
				return 0, fmt.Errorf("%w: an append in front of byte %d is not whole, and others follow it", ErrDamaged, at)
			} else {
				end = at + frameHeader
			}
			whole = read(frameHeader)
			sum.Reset()
		default: // zeros, or a piece of what was torn
			whole = false
		}
	}
	return end, err
}
