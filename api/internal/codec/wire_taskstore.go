package codec

import "github.com/taskrt/taskrt/api"

// StoreUpdateBody is the body of POST /taskstore/update. Unknown names are ignored, null is an empty list: existing
// clients send such.
type StoreUpdateBody struct {
	ClientID *int64            `json:"clientid"` // required; a random number that stands for the client
	Adds     []StoreAddBody    `json:"adds,omitempty"`
	Updates  []StoreChangeBody `json:"updates,omitempty"`
	Deletes  []uint64          `json:"deletes,omitempty"`
	Depends  []uint64          `json:"depends,omitempty"` // must be there for the update to happen
}

// StoreAddBody is a new record.
type StoreAddBody struct {
	Group    string `json:"group"`
	Data     string `json:"data,omitempty"`
	Timespec *int64 `json:"timespec,omitempty"` // available from then on, Unix ms; 0: now; negative: now plus its absolute value
	Duration *int64 `json:"duration,omitempty"` // the same, if timespec is absent: what the original client calls it
}

// StoreChangeBody replaces a record; the group stays, and what is absent becomes empty.
type StoreChangeBody struct {
	ID       uint64 `json:"id"`
	Data     string `json:"data,omitempty"`
	Timespec *int64 `json:"timespec,omitempty"` // as in an add
	Duration *int64 `json:"duration,omitempty"` // as in an add
}

// StoreClaimBody is the body of POST /taskstore/claim.
type StoreClaimBody struct {
	ClientID *int64   `json:"clientid"` // required
	Group    string   `json:"group"`
	Duration int64    `json:"duration,omitempty"` // ms; negative counts as 0
	Depends  []uint64 `json:"depends,omitempty"`
}

// StoreTasksAnswer has the new records: adds, then updates.
type StoreTasksAnswer struct {
	Tasks []*api.StoreTask `json:"tasks"`
}

// StoreErrorsAnswer says why nothing happened.
type StoreErrorsAnswer struct {
	Errors []string         `json:"errors"` // the same as texts
	Error  *api.StoreErrors `json:"error"`
}

// StoreProblemFields is what a problem below /taskstore has besides: the text that the original clients look for.
type StoreProblemFields struct {
	Errors []string `json:"errors"`
}
