package task

import (
	"bytes"
	"encoding/hex"

	"github.com/taskrt/taskrt/task/table"
)

// digest is a SHA-256 as the machine keeps it. Its text, lower-case hex, is what everybody else sees.
type digest [32]byte

// parseDigest reads the text of a digest; ok is false for anything else.
func parseDigest(s string) (d digest, ok bool) {
	if len(s) != 2*len(d) {
		return d, false
	}
	for i := range s {
		if s[i] >= 'A' && s[i] <= 'F' {
			return d, false
		}
	}
	_, err := hex.Decode(d[:], []byte(s))
	return d, err == nil
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func (d digest) compare(e digest) int { return bytes.Compare(d[:], e[:]) }

// blobRow is what the machine holds for one blob: 72 bytes without a pointer.
type blobRow struct {
	digest digest
	size   int64
	noted  Time
	made   uint64
	refs   int64 // derived: how many records need it
	ready  bool
}

// blob returns the record of the row.
func (r *blobRow) blob() *Blob {
	return &Blob{Digest: r.digest.String(), Size: r.size, Ready: r.ready, Noted: r.noted, Made: r.made}
}

// blobTable holds all blobs: found and walked by digest, frozen without copying them. Digests come in no order, but for a
// snapshot's.
type blobTable = table.Sorted[digest, blobRow, blobPage]

type blobPage = [128]blobRow

func newBlobTable() blobTable {
	return table.NewSorted[digest, blobRow, blobPage](table.Order[digest, blobRow]{
		Key: func(r *blobRow) digest { return r.digest }, Compare: digest.compare,
	})
}
