package codec

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/taskrt/taskrt/api"
)

// IndexHeader carries the log index of an answer (SPEC W4).
const IndexHeader = "Taskrt-Index"

// RequestID makes a request_id of an Idempotency-Key, which may be longer.
func RequestID(key string) string {
	if len(key) <= api.MaxWorker {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// EventMedia is the media type of events.
const EventMedia = "text/event-stream"

// LastEventID is the header by which a client says after which event to go on.
const LastEventID = "Last-Event-ID"

// EventHeartbeat is how often a stream says that it is alive (SPEC W3).
const EventHeartbeat = 15 * time.Second

// Headers by which a client says that it needs little of an answer, and a server that it gave little (RFC 7240).
const (
	PreferHeader  = "Prefer"
	AppliedHeader = "Preference-Applied"
	ReturnMinimal = "return=minimal"
)

// JSONMedia is the media type of bodies and answers.
const JSONMedia = "application/json"

// BytesMedia is the media type of a file whose kind nobody told.
const BytesMedia = "application/octet-stream"

// LinesMedia is the media type of an export: JSON lines.
const LinesMedia = "application/x-ndjson"

// StorePrefix is below what the TaskStore API is served.
const StorePrefix = "/taskstore/"

// ProblemMedia is the media type of errors (RFC 9457).
const ProblemMedia = "application/problem+json"
