package api

import (
	"context"
	"encoding/json"
)

// WaitRequest is POST /v1/tasks:wait (SPEC W2).
type WaitRequest struct {
	Namespace string    `json:"namespace,omitempty"`
	IDs       []string  `json:"ids"`             // 1 to MaxWaitIDs, each once
	Mode      string    `json:"mode,omitempty"`  // all (default), any
	Until     string    `json:"until,omitempty"` // as GetOptions.Until
	Since     uint64    `json:"since,omitempty"`
	Timeout   *Duration `json:"timeout,omitempty"` // default and limit: MaxWait

	Stale    bool   `json:"-"` // consistency=stale
	MinIndex uint64 `json:"-"`
}

// WaitReply has the tasks as they are at the end of the wait, in the order of the ids. A task that no longer exists is null.
type WaitReply struct {
	Tasks    []*Task `json:"tasks" null:"items"`
	TimedOut bool    `json:"timed_out"`
}

// EventsRequest is GET /v1/events (SPEC W3).
type EventsRequest struct {
	Namespace string
	Behavior  string
	IDs       []string // any of these, at most MaxWaitIDs; empty: all
	Parent    string
	Status    string // after the change; of a removed record: before it
	HasAfter  bool   // else from now on
	After     uint64 // Last-Event-ID: the rev of the last event that was seen; 0: begin with the present state
	// Sight says what the caller may see, by behavior and by the number of the token that created it. Nil: everything.
	Sight func(behavior string, creator uint64) bool
}

// The kinds of events.
const (
	EventTask     = "task"     // a new version of a record: TaskEvent
	EventProgress = "progress" // only the progress of a record is new: ProgressEvent; at most every 250 ms for a task
	EventRemoved  = "removed"  // RemovedEvent
	// EventReset says that changes were missed: what the subscriber knows of the tasks is void. The present states of the tasks
	// follow as task events. Changes that happen meanwhile are among these events. Only the last of them has a Rev.
	EventReset = "reset"
)

// Event is one event of the stream.
type Event struct {
	Kind string
	Rev  uint64 // from which to go on after this event; 0: the event has none. After a reset without a Rev, go on from 0
	Data []byte // JSON
}

// TaskEvent is the data of a task event.
type TaskEvent struct {
	Task *Task `json:"task"`
}

// ProgressEvent is the data of a progress event.
type ProgressEvent struct {
	Namespace string          `json:"namespace"`
	ID        string          `json:"id"`
	Attempt   int64           `json:"attempt"`
	Progress  json.RawMessage `json:"progress"`
}

// RemovedEvent is the data of a removed event.
type RemovedEvent struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Rev       uint64 `json:"rev"`
}

// EventStream hands out events in order. One goroutine at a time may use it.
type EventStream interface {
	// Next blocks until there is an event, ctx ends or the service stops. An error other than ctx's ends the stream.
	Next(ctx context.Context) (Event, error)
	// Position is the rev from which to go on elsewhere: every event up to this rev that was asked for has been handed out.
	// Position may be ahead of the last event's rev. It is 0 between a reset and the last state after the reset.
	Position() uint64
	Close()
}
