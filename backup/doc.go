// Package backup is the format of a cluster's backup (SPEC C8): one file with the state at one index of the log, and with the blobs that the
// state knows. DESIGN.md has the layout.
package backup

import (
	"errors"
	"time"

	"github.com/taskrt/taskrt/task"
)

// Format is the number of the layout that this build writes and reads.
const Format = 1

// These are what a backup can be that is not right. Every error of a Reader that comes from the file's content wraps one of them.
var (
	// ErrNoBackup says that a file is something else.
	ErrNoBackup = errors.New("backup: this is no backup of taskrt")
	// ErrVersion says that a file was written by a build that this one does not follow.
	ErrVersion = errors.New("backup: written by another version")
	// ErrDamaged says that bytes of a file are not those that were written.
	ErrDamaged = errors.New("backup: damaged")
	// ErrTruncated says that a file ends too early.
	ErrTruncated = errors.New("backup: truncated")
	// ErrBrokenOff says that whoever wrote a file gave up, and wrote why.
	ErrBrokenOff = errors.New("backup: broken off")
)

// Header says what a backup holds. It stands first.
type Header struct {
	Cluster string    `json:"cluster"` // ID of the cluster
	Node    string    `json:"node"`    // that wrote it
	Version string    `json:"version"` // of taskrt
	Begun   time.Time `json:"begun"`   // by the clock of the node

	Index     uint64    `json:"index"`         // of the log
	Term      uint64    `json:"term"`          // of the entry
	Time      time.Time `json:"time"`          // of the cluster's clock at this index
	Digest    uint64    `json:"digest,string"` // of the state
	LogFormat int       `json:"log_format"`    // wire.Format
	Level     uint64    `json:"feature_level"`

	Namespaces int64 `json:"namespaces"`
	Tasks      int64 `json:"tasks"`
	Operations int64 `json:"operations"`
	Records    int64 `json:"records"`
	Tokens     int64 `json:"tokens"` // access tokens: their hashes, no secrets

	WithBlobs bool  `json:"with_blobs"`
	Blobs     int64 `json:"blobs"` // that the state knows, whether or not the file has them
	BlobBytes int64 `json:"blob_bytes"`
}

// Describe fills in what the state says of itself.
func (h *Header) Describe(f *task.Frozen) {
	f.Records(func(r task.Record) (more bool) {
		head := r.(*task.Head) // it comes first
		h.Index, h.Term, h.Time, h.Digest, h.Level = head.Index, head.Term, time.UnixMilli(int64(head.Now)).UTC(), head.Digest, head.Level
		h.Namespaces, h.Tasks, h.Operations, h.Records, h.Tokens = head.Namespaces, head.Tasks, head.Operations, head.Records, head.AccessTokens
		return false
	})
}

// End says what was written. It stands last.
type End struct {
	Pieces     uint64 `json:"pieces"` // before this one
	StateBytes int64  `json:"state_bytes"`
	Blobs      int64  `json:"blobs"` // in the file
	BlobBytes  int64  `json:"blob_bytes"`
	Missing    int64  `json:"missing,omitempty"` // blobs that no node had
	SHA256     string `json:"sha256"`            // of every byte before this piece
}

// Blob names a file of the blob store.
type Blob struct {
	Digest string `json:"digest"` // lower-case hex SHA-256
	Size   int64  `json:"size"`
}
