package blob

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"hash/maphash"
	"sync"
)

// Digest returns the name of a file with these bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ValidDigest guards paths: nothing but 64 lower-case hex digits ever becomes a file name.
func ValidDigest(d string) bool {
	if len(d) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(d) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// pieceBytes is how much of a file is checked at once.
const pieceBytes = 64 << 10

// sheet has a sum of every piece of a file, taken while the whole file matched its digest. With the sheet, any part of the file can
// be checked without reading the rest. A digest has only one sheet, so a sheet never becomes wrong.
type sheet struct {
	size int64
	sums []uint64
}

// hasher takes the digest and the sheet of the bytes that are written to it.
type hasher struct {
	whole hash.Hash
	piece maphash.Hash
	size  int64
	sums  []uint64
}

func newHasher(seed maphash.Seed) *hasher {
	h := &hasher{whole: sha256.New()}
	h.piece.SetSeed(seed)
	return h
}

// Write implements io.Writer; it does not fail.
func (h *hasher) Write(p []byte) (int, error) {
	_, _ = h.whole.Write(p)
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceBytes-int(h.size%pieceBytes))
		_, _ = h.piece.Write(rest[:n])
		h.size += int64(n)
		if h.size%pieceBytes == 0 {
			h.sums = append(h.sums, h.piece.Sum64())
			h.piece.Reset()
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// digest ends the writing.
func (h *hasher) digest() string { return hex.EncodeToString(h.whole.Sum(nil)) }

// sheet ends the writing.
func (h *hasher) sheet() *sheet {
	s := &sheet{size: h.size, sums: h.sums}
	if h.size%pieceBytes > 0 {
		s.sums = append(s.sums, h.piece.Sum64())
	}
	return s
}

// maxSheets bounds how many sheets are remembered. By default one sheet has at most 4 KiB.
const maxSheets = 1024

// sheets remembers the sheets of the files that were used last.
type sheets struct {
	mu    sync.Mutex
	order *list.List // of *namedSheet, the last used first
	by    map[string]*list.Element
}

type namedSheet struct {
	digest string
	*sheet
}

func newSheets() *sheets { return &sheets{order: list.New(), by: map[string]*list.Element{}} }

// get returns a file's sheet, nil if it is not known.
func (c *sheets) get(digest string) *sheet {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.by[digest]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*namedSheet).sheet
}

func (c *sheets) put(digest string, s *sheet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[digest] != nil {
		return
	}
	c.by[digest] = c.order.PushFront(&namedSheet{digest, s})
	if last := c.order.Back(); c.order.Len() > maxSheets {
		delete(c.by, c.order.Remove(last).(*namedSheet).digest)
	}
}
