package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// A module is initialised where it was compiled, too: its image lies beside its code in the cache (SPEC L5), and an engine that
// only reads the cache takes it from there. The file has the SHA-256 of all that follows; the length of the head, 32 bits; the
// head, JSON; then runs of pages that are not all zero: where each begins in the memory and its length, 64 bits each, and its
// bytes. Numbers are little-endian.

// maxImageFile bounds the file: a larger image is made where it is used.
const maxImageFile = 64 << 20

// errImageTooLarge: the file would be larger than maxImageFile.
var errImageTooLarge = errors.New("runtime: the image has too many pages for a file")

// imagePlace is the file of the image of digest.
func (c *codeCache) imagePlace(digest string) string {
	return filepath.Join(c.dir, digest+"-image-"+generation())
}

// writeImage puts an image into the cache.
func (c *codeCache) writeImage(digest string, head imageHead, memory []byte) error {
	f, err := os.CreateTemp(c.dir, makingPrefix)
	if err != nil {
		return fmt.Errorf("runtime: image: %w", err)
	}
	defer os.Remove(f.Name())
	w := &imageWriter{file: f}
	err = errors.Join(w.write(head, memory), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), c.imagePlace(digest))
	}
	if err != nil {
		return fmt.Errorf("runtime: image: %w", err)
	}
	c.grown(w.size)
	return nil
}

// imageWriter writes an image's file.
type imageWriter struct {
	file *os.File
	size int64
}

func (w *imageWriter) write(head imageHead, memory []byte) error {
	body, err := json.Marshal(head)
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
			if w.size += int64(16 + to - from); w.size > maxImageFile {
				return errImageTooLarge
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

// keptImage is an image that was read from the cache, of a file that is whole.
type keptImage struct {
	imageHead

	runs []imageRun // within the memory, none before the end of the one before it
}

// imageRun is a run of pages.
type imageRun struct {
	from int // where it begins in the memory
	data []byte
}

// errDamagedImage: the file is not what writeImage wrote.
var errDamagedImage = errors.New("runtime: the image in the cache is damaged")

// readImage returns the image of digest. The cache has none: fs.ErrNotExist.
func (c *codeCache) readImage(digest string) (*keptImage, error) {
	place := c.imagePlace(digest)
	f, err := os.Open(place)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(info.Size(), maxImageFile+1)) // one byte too many is seen by decodeImage
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(place, now, now) // prune would take it sooner
	return decodeImage(data)
}

func decodeImage(data []byte) (*keptImage, error) {
	if len(data) < sha256.Size+4 || len(data) > maxImageFile {
		return nil, errDamagedImage
	}
	sum, data := data[:sha256.Size], data[sha256.Size:]
	if got := sha256.Sum256(data); !bytes.Equal(got[:], sum) {
		return nil, errDamagedImage
	}
	n, data := binary.LittleEndian.Uint32(data), data[4:]
	if int64(n) > int64(len(data)) {
		return nil, errDamagedImage
	}
	k := &keptImage{}
	if err := json.Unmarshal(data[:n], &k.imageHead); err != nil {
		return nil, errors.Join(errDamagedImage, err)
	}
	if k.Size < 0 || k.Size > manifest.MaxMemoryBytes || k.Size%wasmbin.PageSize != 0 {
		return nil, errDamagedImage
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
			return nil, errDamagedImage
		}
		from, n := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		data = data[16:]
		if from < end || from%page != 0 || n%page != 0 || n == 0 || n > uint64(len(data)) || n > size || from > size-n {
			return nil, errDamagedImage
		}
		runs = append(runs, imageRun{int(from), data[:n]})
		end, data = from+n, data[n:]
	}
	return runs, nil
}

// fits says whether the image can be that of a module with so many mutable globals, whose memory has least bytes at least.
func (k *keptImage) fits(globals int, least int64) error {
	if len(k.Globals) != globals || k.Size < least {
		return errDamagedImage
	}
	return nil
}

// fill makes memory, which has the image's size, what it is in the image.
func (k *keptImage) fill(memory []byte) error {
	end := 0
	for _, run := range k.runs {
		if err := wipe(memory[end:run.from]); err != nil {
			return err
		}
		end = run.from + copy(memory[run.from:], run.data)
	}
	return wipe(memory[end:])
}

// save puts the image of an instance that was just initialised into the cache, once.
func (i *instance) save() {
	p := i.pool
	if p.saved.Swap(true) {
		return
	}
	if err := p.cache.writeImage(p.digest, i.head(), i.mem.region[:i.mem.size]); err != nil {
		p.cache.log.Warn("the image of a module is not cached", "digest", p.digest, "err", err)
	}
}

// cached initialises i by the image that the cache has of its module. false: there is none that i may have.
func (i *instance) cached() (bool, error) {
	p := i.pool
	if !p.restorable || p.cache.other == nil || p.uncached.Load() {
		return false, nil
	}
	p.reading.Lock() // one reads at a time: the others share what it has made of it
	defer p.reading.Unlock()
	if i.image = p.shelf.join(p, i.mem.limit); i.image != nil {
		return true, i.image.show(i)
	}
	kept, err := p.cache.readImage(p.digest)
	if err == nil {
		err = kept.fits(len(p.globals), p.minMemory)
	}
	if err != nil {
		p.uncached.Store(true)
		if !errors.Is(err, fs.ErrNotExist) {
			p.cache.log.Warn("the image of a module is of no use, it is made anew", "digest", p.digest, "err", err)
		}
		return false, nil
	}
	if kept.Size > i.mem.limit { // made where more was allowed
		return false, nil
	}
	if err := i.widen(kept.Size); err != nil {
		return false, err
	}
	if err := kept.fill(i.mem.region[:i.mem.size]); err != nil {
		return false, fmt.Errorf("runtime: image: %w", err)
	}
	kept.setGlobals(i)
	kept.tell(i.guest)
	i.keepImage()
	return true, nil
}
