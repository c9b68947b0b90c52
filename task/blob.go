package task

import "github.com/taskrt/taskrt/task/blobs"

// Blob is a file of the blob store as the log knows it (SPEC M3). Values are immutable.
//
// A blob is noted twice: before its first byte is written anywhere, and when a majority has it. A node that unlinks a file looks at the record after
// it has the file's lock. A node that writes a file has applied the first note before. So a file that is put again while its deletion is being
// carried out stays, without any clock. The grace of maintenance only saves work.
//
// The second note names the first. If the record was dropped in between, and the first note of another upload made it
// again, the files of the earlier upload may be gone, and this upload must not vouch for them.
//
//fields:hash record
type Blob struct {
	Digest string `cbor:"1,keyasint"` // lower-case hex SHA-256
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"` // a majority has it: commands may refer to it
	Noted  Time   `cbor:"4,keyasint"`           // its last upload or reference
	Made   uint64 `cbor:"5,keyasint,omitempty"` // log index of the entry that made the record

	Refs int64 `cbor:"-"` // derived: how many records need it; filled in by Machine.Blob and Blobs only
}

// Blob returns a blob with its references, or nil.
func (m *Machine) Blob(digest string) *Blob {
	if r := m.blobs.Find(digest); r != nil {
		return blobView(r)
	}
	return nil
}

// BlobReady reports whether a command may refer to the digest. It allocates nothing.
func (m *Machine) BlobReady(digest string) bool {
	r := m.blobs.Find(digest)
	return r != nil && r.Ready
}

// Blobs yields the blobs after the given digest, by digest and with their references, or all blobs for "". Anything that is no digest counts as "".
func (m *Machine) Blobs(after string) func(yield func(*Blob) bool) {
	return func(yield func(*Blob) bool) {
		for r := range m.blobs.After(after) {
			if !yield(blobView(r)) {
				return
			}
		}
	}
}

// blobOf returns the record of a row.
func blobOf(r *blobs.Row) *Blob {
	return &Blob{Digest: r.Digest.String(), Size: r.Size, Ready: r.Ready, Noted: Time(r.Noted), Made: r.Made}
}

// blobView returns the record of a row with its references.
func blobView(r *blobs.Row) *Blob {
	view := blobOf(r)
	view.Refs = r.Refs
	return view
}
