package blobs

import "github.com/taskrt/taskrt/task/hash"

// Blob is a file of the blob store as the log knows it (SPEC M3). Values are immutable.
//
// A blob is noted twice: before its first byte is written anywhere, and when a majority has it. A node that unlinks a file looks at the record after
// it has the file's lock. A node that writes a file has applied the first note before. So a file that is put again while its deletion is being
// carried out stays, without any clock. The grace of maintenance only saves work.
//
// The second note names the first. If the record was dropped in between, and the first note of another upload made it
// again, the files of the earlier upload may be gone, and this upload must not vouch for them.
type Blob struct {
	Digest string `cbor:"1,keyasint"` // lower-case hex SHA-256
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"` // a majority has it: commands may refer to it
	Noted  int64  `cbor:"4,keyasint"`           // its last upload or reference, in Unix milliseconds
	Made   uint64 `cbor:"5,keyasint,omitempty"` // log index of the entry that made the record

	Refs int64 `cbor:"-"` // derived: how many records need it; filled in by View only
}

// Blob returns the record of a row.
func (r *Row) Blob() *Blob {
	return &Blob{Digest: r.Digest.String(), Size: r.Size, Ready: r.Ready, Noted: r.Noted, Made: r.Made}
}

// View returns the record of a row with its references.
func (r *Row) View() *Blob {
	b := r.Blob()
	b.Refs = r.Refs
	return b
}

// Hash hashes every field of a Blob, with a kind before them.
func (b *Blob) Hash(kind uint64) uint64 {
	h := hash.New(kind)
	h.Str(b.Digest)
	h.Int(b.Size)
	h.Bool(b.Ready)
	h.Int(b.Noted)
	h.Word(b.Made)
	return h.Sum()
}
