package api

import "io"

// Blob describes a stored file (SPEC H3). In params, results and checkpoints it is written {"$blob": "sha256:…"}.
type Blob struct {
	Digest string `json:"digest"` // "sha256:" and 64 lower-case hex digits
	Size   int64  `json:"size"`   // bytes
	Refs   int64  `json:"refs"`   // records that need the blob; maintenance deletes a blob that no record needs, after the grace
}

// PutBlobRequest is POST /v1/blobs.
type PutBlobRequest struct {
	Body   io.Reader
	Size   int64  // -1: unknown
	Digest string // if given, the upload is refused if the bytes have another digest
}

// BlobRange is GET /v1/blobs/{digest} with a range.
type BlobRange struct {
	Digest string
	From   int64
	Length int64 // -1: to the end
}

// BlobContent is a blob's bytes, or a range of them. Body must be closed.
type BlobContent struct {
	Size int64 // of the whole blob
	From int64
	Body io.ReadCloser
}

// NodeBlobs says in what state the files of a node are.
type NodeBlobs struct {
	Missing int64  `json:"missing"`           // files that are stored in the cluster, but not on this node's disk
	Failing int64  `json:"failing,omitempty"` // missing files that were asked for in vain so far
	Corrupt int64  `json:"corrupt,omitempty"` // files that were found with wrong bytes, and removed, since the node started
	Error   string `json:"error,omitempty"`   // why the node's disk refused the last file
}
