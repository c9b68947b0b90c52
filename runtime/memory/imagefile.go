package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// The file of an image begins with the SHA-256 of all that follows. Then come the length of the head, 32 bits, and the head, a State in JSON. Then
// come runs of pages that are not all zero: where each begins in the memory, its length, 64 bits each, and its bytes. Numbers are little-endian.

// wasmPage is the size of a page of WebAssembly.
const wasmPage = 64 << 10

// MaxFile bounds the file of an image, in bytes: a larger image is made where it is used.
const MaxFile = 64 << 20

// errTooLarge says that the file would be larger than MaxFile.
var errTooLarge = errors.New("runtime: the image has too many pages for a file")

// WriteFile writes the file of an image of m, whose instance has just been initialised to s. size is the file's
// length.
func WriteFile(f *os.File, m *Memory, s State) (size int64, err error) {
	w := &imageWriter{file: f}
	err = w.write(s, m.region[:m.size])
	return w.size, err
}

// imageWriter writes an image's file.
type imageWriter struct {
	file *os.File
	size int64
}

func (w *imageWriter) write(s State, memory []byte) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := io.MultiWriter(io.NewOffsetWriter(w.file, sha256.Size), sum)
	if _, err := out.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)); err != nil {
		return err
	}
	w.size = int64(sha256.Size + 4 + len(body))
	err = touched(memory, func(from, to int) error {
		return pageRuns(memory, from, to, func(from, to int) error {
			if w.size += int64(16 + to - from); w.size > MaxFile {
				return errTooLarge
			}
			place := binary.LittleEndian.AppendUint64(nil, uint64(from))
			if _, err := out.Write(binary.LittleEndian.AppendUint64(place, uint64(to-from))); err != nil {
				return err
			}
			_, err := out.Write(memory[from:to])
			return err
		})
	})
	if err != nil {
		return err
	}
	_, err = w.file.WriteAt(sum.Sum(nil), 0)
	return err
}

// pageRuns calls f with each run of pages in a part of memory that are not all zero.
func pageRuns(memory []byte, from, to int, f func(from, to int) error) error {
	page, begin := os.Getpagesize(), -1
	for at := from; at < to; at += page {
		empty := zero(memory[at:min(at+page, to)])
		if empty && begin >= 0 {
			if err := f(begin, at); err != nil {
				return err
			}
			begin = -1
		}
		if !empty && begin < 0 {
			begin = at
		}
	}
	if begin < 0 {
		return nil
	}
	return f(begin, to)
}

func zero(data []byte) bool {
	for _, c := range data {
		if c != 0 {
			return false
		}
	}
	return true
}

// Kept is an image that was read from a file that is whole.
type Kept struct {
	State

	runs []imageRun // within the memory, none before the end of the one before it
}

// imageRun is a run of pages.
type imageRun struct {
	from int // where it begins in the memory
	data []byte
}

// errDamaged says that the file is not what WriteFile wrote.
var errDamaged = errors.New("runtime: the image in the cache is damaged")

// ReadFile returns the image that the bytes of a file hold. most bounds the image's memory, in bytes.
func ReadFile(data []byte, most int64) (*Kept, error) {
	if len(data) < sha256.Size+4 || len(data) > MaxFile {
		return nil, errDamaged
	}
	sum, data := data[:sha256.Size], data[sha256.Size:]
	if got := sha256.Sum256(data); !bytes.Equal(got[:], sum) {
		return nil, errDamaged
	}
	n, data := binary.LittleEndian.Uint32(data), data[4:]
	if int64(n) > int64(len(data)) {
		return nil, errDamaged
	}
	k := &Kept{}
	if err := json.Unmarshal(data[:n], &k.State); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	if k.Size < 0 || k.Size > most || k.Size%wasmPage != 0 {
		return nil, errDamaged
	}
	var err error
	if k.runs, err = decodeRuns(data[n:], uint64(k.Size)); err != nil {
		return nil, err
	}
	return k, nil
}

// decodeRuns returns the runs of a memory of size bytes.
func decodeRuns(data []byte, size uint64) (runs []imageRun, err error) {
	page, end := uint64(os.Getpagesize()), uint64(0)
	for len(data) > 0 {
		if len(data) < 16 {
			return nil, errDamaged
		}
		from, n := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		data = data[16:]
		if from < end || from%page != 0 || n%page != 0 || n == 0 || n > uint64(len(data)) || n > size || from > size-n {
			return nil, errDamaged
		}
		runs = append(runs, imageRun{int(from), data[:n]})
		end, data = from+n, data[n:]
	}
	return runs, nil
}

// Fits says whether the image can be that of a module with so many mutable globals, whose memory has least bytes or
// more.
func (k *Kept) Fits(globals int, least int64) error {
	if len(k.Globals) != globals || k.Size < least {
		return errDamaged
	}
	return nil
}

// Fill gives m, whose size is that of the image, the image's memory.
func (k *Kept) Fill(m *Memory) error {
	if err := k.fill(m.region[:m.size]); err != nil {
		return fmt.Errorf("runtime: image: %w", err)
	}
	return nil
}

// fill gives memory, which has the image's size, the image's content.
func (k *Kept) fill(memory []byte) error {
	end := 0
	for _, run := range k.runs {
		if err := wipe(memory[end:run.from]); err != nil {
			return err
		}
		end = run.from + copy(memory[run.from:], run.data)
	}
	return wipe(memory[end:])
}
