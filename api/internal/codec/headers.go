package codec

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/taskrt/taskrt/api"
)

// These are the media types of bodies and answers.
const (
	JSONMedia    = "application/json"
	ProblemMedia = "application/problem+json" // of errors (RFC 9457)
	EventMedia   = "text/event-stream"
	LinesMedia   = "application/x-ndjson"     // of an export: JSON lines
	BytesMedia   = "application/octet-stream" // of a file of unknown kind
)

// IndexHeader carries the log index of an answer (SPEC W4).
const IndexHeader = "Taskrt-Index"

// ClusterHeader names the cluster that answers, by its ID. In a request it names the cluster that is meant (SPEC C2).
const ClusterHeader = "Taskrt-Cluster"

// LastEventID is the header by which a client says after which event to go on.
const LastEventID = "Last-Event-ID"

// EventHeartbeat is how often a stream says that it is alive (SPEC W3).
const EventHeartbeat = 15 * time.Second

// These are the headers by which a client asks for a short answer, and a server says that it gave a short answer (RFC 7240).
const (
	PreferHeader  = "Prefer"
	AppliedHeader = "Preference-Applied"
	ReturnMinimal = "return=minimal"
)

// StorePrefix is the path below which the TaskStore API is served.
const StorePrefix = "/taskstore/"

// RequestID makes a request_id from an Idempotency-Key, which may be longer than a request_id.
func RequestID(key string) string {
	if len(key) <= api.MaxWorker {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
