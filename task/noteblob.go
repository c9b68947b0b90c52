package task

// NoteBlob is the first note of a blob, or the second with Ready. The second is refused as blob_gone if the record was
// dropped in between, also if another upload has made it again: the file is put again then.
type NoteBlob struct {
	Digest string `cbor:"1,keyasint"`
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"`
	Since  uint64 `cbor:"4,keyasint,omitempty"` // with Ready: log index of the first note (Result.Index); 0: not compared
}

// apply refreshes what is known: a blob that is put again is younger, and one that a majority has stays ready. The size
// follows from the content: another one for the same digest is a mistake, which nobody may bring into a ready record.
func (c NoteBlob) apply(m *Machine) Result {
	d, ok := parseDigest(c.Digest)
	switch {
	case !ok:
		return invalid("digest", "a digest is 64 characters of 0-9 a-f")
	case c.Size < 0:
		return invalid("size", "a size is negative")
	}
	r := m.blobs.Get(d)
	switch {
	case c.Ready && (r == nil || !r.ready && c.Since > 0 && r.made > c.Since):
		return blobGone("digest", c.Digest)
	case r != nil && r.size != c.Size && (r.ready || c.Ready):
		return invalid("size", "the blob is known with another size")
	}
	m.noteBlob(d, c.Size, c.Ready)
	return Result{Changed: true}
}

// noteBlob writes the record of a blob that is put.
func (m *Machine) noteBlob(d digest, size int64, ready bool) {
	r := m.blobs.Edit(d)
	if r == nil {
		m.enterBlob(blobRow{digest: d, size: size, noted: m.now, made: m.index})
		r = m.blobs.Edit(d)
	} else {
		m.sum -= hashBlob(r.blob())
		r.size, r.noted = size, m.now
		m.sum += hashBlob(r.blob())
	}
	if !ready || r.ready {
		return
	}
	m.sum -= hashBlob(r.blob())
	r.ready = true
	m.sum += hashBlob(r.blob())
	m.emit(Event{Kind: BlobNoted, Digests: []string{d.String()}})
}

// enterBlob adds the record of a blob. The module of that digest, if there is one, needs it.
func (m *Machine) enterBlob(r blobRow) {
	m.sum += hashBlob(r.blob())
	if m.modules[r.digest.String()] != nil {
		r.refs = 1
	}
	m.blobs.Insert(r.digest, r)
}
