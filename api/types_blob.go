package api

import "io"

// Blob describes a stored file (SPEC H3). In params, results and checkpoints it is written {"$blob": "sha256:…"}.
type Blob struct {
	Digest string `json:"digest"` // "sha256:" and 64 lower-case hex digits
	Size   int64  `json:"size"`   // bytes
	Refs   int64  `json:"refs"`   // records that need it; one that nothing needs is deleted by maintenance after the grace
}

// PutBlobRequest is POST /v1/blobs.
type PutBlobRequest struct {
	Body   io.Reader
	Size   int64  // -1: unknown
	Digest string // "": whatever it is; else the upload is refused if the bytes have another one
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

// NodeBlobs says how the files of a node are.
type NodeBlobs struct {
	Missing int64  `json:"missing"`           // stored in the cluster, not on this node's disk
	Failing int64  `json:"failing,omitempty"` // of those: asked for in vain so far
	Corrupt int64  `json:"corrupt,omitempty"` // found with wrong bytes, and removed, since the node started
	Error   string `json:"error,omitempty"`   // why its disk refused the last file
}
