// Package snapshot is the contract of backups of a whole cluster: how one is saved, and who is saving one (SPEC C8).
package snapshot

import (
	"context"
	"embed"
	"io"

	"github.com/taskrt/taskrt/api"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go
var Sources embed.FS

// The bounds of SaveRequest.Rate, in bytes per second.
const (
	MinRate     = 64 << 10
	DefaultRate = 32 << 20
	MaxRate     = 64 << 30
)

// SaveRequest says what a backup is to hold, and how fast it is read.
type SaveRequest struct {
	WithoutBlobs bool  // the state alone
	AllowMissing bool  // blobs that no node has are named in the backup; without it such a blob ends the backup
	Rate         int64 // bytes per second that are read, before they are packed; 0: DefaultRate
}

// Check returns an error for a rate that makes no sense, and fills in the default.
func (r *SaveRequest) Check() error {
	if r.Rate == 0 {
		r.Rate = DefaultRate
	}
	if r.Rate < MinRate || r.Rate > MaxRate {
		return api.FieldError(api.CodeInvalidField, "rate", "a backup is read at %d to %d bytes per second", MinRate, int64(MaxRate))
	}
	return nil
}

// Hold keeps blobs from being dropped while a backup is saved. It ends by itself if its saver is gone.
type Hold struct {
	ID     string       `json:"id"`
	Holder string       `json:"holder"` // whom it is for, in words
	TTL    api.Duration `json:"ttl"`    // how long it lives without a renewal
	Left   api.Duration `json:"left"`   // how long it lives yet, unless it is renewed
}

// HoldsReply lists the holds that live.
type HoldsReply struct {
	Holds []Hold `json:"holds"`
}

// BeginReply says which attempt at the task _system/backup makes a backup that was asked for.
type BeginReply struct {
	Attempt int64 `json:"attempt"`
}

// Snapshots saves backups.
type Snapshots interface {
	// Save begins a backup of the state as it is now, in the form of package backup. The caller reads and closes it. An error that comes later
	// stands in the stream itself, in the place of its end.
	Save(context.Context, SaveRequest) (io.ReadCloser, error)
	// Holds lists the holds that live.
	Holds(context.Context) (*HoldsReply, error)
	// Begin lets the servers make a backup by themselves now, where they were told to make backups.
	Begin(context.Context) (*BeginReply, error)
}
