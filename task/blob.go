package task

// Blob is a file of the blob store as the log knows it (SPEC M3). Values are immutable.
//
// A blob is noted twice: before its first byte is written anywhere, and when a majority has it. What unlinks files looks
// at the record after it has the file's lock, and who writes one has applied the first note before: so a file that is
// put again while its deletion is being carried out stays, without any clock. The grace of maintenance only saves work.
type Blob struct {
	Digest string `cbor:"1,keyasint"` // lower-case hex SHA-256
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"` // a majority has it: commands may refer to it
	Noted  Time   `cbor:"4,keyasint"`           // its last PUT or reference

	Refs int64 `cbor:"-"` // derived: how many records need it; filled in by Machine.Blob
}

// NoteBlob is the first note of a blob, or the second with Ready. The second is refused as blob_gone if the record was
// dropped in between: the file is put again then.
type NoteBlob struct {
	Digest string `cbor:"1,keyasint"`
	Size   int64  `cbor:"2,keyasint"`
	Ready  bool   `cbor:"3,keyasint,omitempty"`
}

// DropBlobs deletes blobs for a maintenance run (SPEC M3), at most MaxDrop: refused as a whole if the run's token is dead. A blob
// that a record needs at this index, or whose last PUT or reference is not older than Before, is left alone. A digest
// that the log does not know counts as dropped: the file is a leftover. Result.Count says how many were.
type DropBlobs struct {
	Token   uint64   `cbor:"1,keyasint"`
	Before  Time     `cbor:"2,keyasint"`
	Digests []string `cbor:"3,keyasint"`
}

// MaxDrop bounds what one command of a maintenance run deletes.
const MaxDrop = 1_000
