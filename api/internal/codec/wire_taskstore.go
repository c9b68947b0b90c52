package codec

import "github.com/taskrt/taskrt/api"

// StoreUpdateBody is the body of POST /taskstore/update. Unknown names are ignored, and null is an empty list, because existing
// clients send both.
type StoreUpdateBody struct {
	ClientID *int64            `json:"clientid"` // required; a random number that stands for the client
	Adds     []StoreAddBody    `json:"adds,omitempty"`
	Updates  []StoreChangeBody `json:"updates,omitempty"`
	Deletes  []uint64          `json:"deletes,omitempty"`
	Depends  []uint64          `json:"depends,omitempty"` // records that must exist for the update to happen
}

// StoreAddBody is a new record.
type StoreAddBody struct {
	Group    string `json:"group"`
	Data     string `json:"data,omitempty"`
	Timespec *int64 `json:"timespec,omitempty"` // from when on the record is available, in Unix ms; 0: now; negative: so many ms from now
	Duration *int64 `json:"duration,omitempty"` // the same, if timespec is absent: the original client gives it this name
}

// StoreChangeBody replaces a record. The group stays. A field that is absent becomes empty.
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
	Duration int64    `json:"duration,omitempty"` // ms; a negative value counts as 0
	Depends  []uint64 `json:"depends,omitempty"`
}

// StoreTasksAnswer has the new records: adds, then updates.
type StoreTasksAnswer struct {
	Tasks []*api.StoreTask `json:"tasks"`
}

// StoreErrorsAnswer says why nothing happened.
type StoreErrorsAnswer struct {
	Errors []string         `json:"errors"` // what error says, as texts
	Error  *api.StoreErrors `json:"error"`
}

// StoreProblemFields are the further fields of a problem below /taskstore: the text for which the original clients look.
type StoreProblemFields struct {
	Errors []string `json:"errors"`
}
