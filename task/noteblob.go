package task

import "github.com/taskrt/taskrt/task/blobs"

// NoteBlob is the first note of a blob or, with Ready, the second. If the record was dropped in between, the second is
// refused as blob_gone, even if another upload has made the record again. The file is put again then.
type NoteBlob struct {
	Digest string `cbor:"1,keyasint"`
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"`
	Since  uint64 `cbor:"4,keyasint,omitempty"` // with Ready: log index of the first note (Result.Index); 0: not compared
}

// apply refreshes the record: a blob that is put again is younger, and a blob that a majority has stays ready. The size
// follows from the content. Another size for the same digest is a mistake, which must not get into a ready record.
func (c NoteBlob) apply(m *Machine) Result {
	d, ok := blobs.Parse(c.Digest)
	switch {
	case !ok:
		return invalid("digest", "a digest is 64 characters of 0-9 a-f")
	case c.Size < 0:
		return invalid("size", "a size is negative")
	}
	r := m.blobs.Get(d)
	switch {
	case c.Ready && (r == nil || !r.Ready && c.Since > 0 && r.Made > c.Since):
		return blobGone("digest", c.Digest)
	case r != nil && r.Size != c.Size && (r.Ready || c.Ready):
		return invalid("size", "the blob is known with another size")
	}
	m.noteBlob(d, c.Size, c.Ready)
	return Result{Changed: true}
}

// noteBlob writes the record of a blob that is put.
func (m *Machine) noteBlob(d blobs.Digest, size int64, ready bool) {
	known := m.blobs.Get(d) != nil
	news := m.blobs.Note(d, size, int64(m.now), ready, m.index)
	if !known {
		m.countFile(d)
	}
	if news {
		m.emit(Event{Kind: BlobNoted, Digests: []string{d.String()}})
	}
}

// countFile counts the module with this digest, if there is one, as a need of the blob, whose record is new.
func (m *Machine) countFile(d blobs.Digest) {
	if m.modules[d.String()] != nil {
		m.blobs.Refer(d, 1)
	}
}
