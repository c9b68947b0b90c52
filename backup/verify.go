package backup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Needed returns the blobs that a state knows, by digest: those that its records may refer to, and its modules.
func Needed(f *task.Frozen) []Blob {
	var all []Blob
	modules := map[string]int64{} // those that the log has no ready blob of: they are older than records of blobs
	add := func(r task.Record) (more bool) {
		switch x := r.(type) {
		case *task.Module:
			modules[x.Digest] = x.Size
		case *task.Blob:
			if x.Ready {
				delete(modules, x.Digest)
				all = append(all, Blob{x.Digest, x.Size})
			}
		case *task.Task, *task.StoreRecord: // they come behind all blobs
			return false
		}
		return true
	}
	for r := range f.Records {
		if !add(r) {
			break
		}
	}
	for digest, size := range modules {
		if !task.Native(digest) {
			all = append(all, Blob{digest, size})
		}
	}
	slices.SortFunc(all, func(a, b Blob) int { return cmp.Compare(a.Digest, b.Digest) })
	return all
}

// Verified says what Verify has looked at.
type Verified struct {
	Header  Header `json:"header"`
	End     End    `json:"end"`
	Missing []Blob `json:"missing"` // that no node had, the first of them
}

// maxMissing bounds Verified.Missing.
const maxMissing = 100

// Verify reads a backup to its end. It restores the state into a machine in memory, runs every check of the machine, compares the digest,
// hashes every blob, and looks whether each blob that the state knows is there. progress, if it is not nil, is told what was read.
func Verify(r io.Reader, progress func(Header, End)) (*Verified, error) {
	b, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	m, err := b.Machine()
	if err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%w: the state contradicts itself: %w", ErrDamaged, err)
	}
	needed := Needed(m.Freeze())
	v := &Verified{Header: b.Header(), Missing: []Blob{}}
	for i := 0; ; i++ {
		x, err := b.Next()
		if progress != nil {
			progress(v.Header, b.Seen())
		}
		if errors.Is(err, io.EOF) {
			if v.Header.WithBlobs && i != len(needed) {
				return nil, fmt.Errorf("%w: the file has %d blobs, the state knows %d", ErrDamaged, i, len(needed))
			}
			v.End = b.End()
			return v, nil
		}
		if err != nil {
			return nil, err
		}
		if i >= len(needed) || needed[i] != x.Blob {
			return nil, fmt.Errorf("%w: blob %d of the file is %s of %d bytes, which the state does not know there", ErrDamaged, i, x.Digest, x.Size)
		}
		if x.Missing && len(v.Missing) < maxMissing {
			v.Missing = append(v.Missing, x.Blob)
		}
	}
}

// Check reads a backup to its end and verifies all that does not take a machine: checksums, and the digest of each blob. A program that stores a
// backup from the net passes it through Check.
func Check(r io.Reader, progress func(Header, End)) (*Verified, error) {
	b, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	tell := func() {
		if progress != nil {
			progress(b.Header(), b.Seen())
		}
	}
	err = b.State(func(r io.Reader) error {
		piece := make([]byte, pieceBytes)
		for {
			_, err := io.ReadFull(r, piece)
			if tell(); err != nil {
				return nil //nolint:nilerr // State says what was wrong with the file
			}
		}
	})
	v := &Verified{Header: b.Header(), Missing: []Blob{}}
	for err == nil {
		var x *BlobReader
		tell()
		if x, err = b.Next(); err == nil && x.Missing && len(v.Missing) < maxMissing {
			v.Missing = append(v.Missing, x.Blob)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	v.End = b.End()
	return v, nil
}
