package api

// storeUpdateBody is the body of POST /taskstore/update. Unknown names are ignored, null is an empty list: existing
// clients send such.
type storeUpdateBody struct {
	ClientID *int64            `json:"clientid"` // required; a random number that stands for the client
	Adds     []storeAddBody    `json:"adds,omitempty"`
	Updates  []storeChangeBody `json:"updates,omitempty"`
	Deletes  []uint64          `json:"deletes,omitempty"`
	Depends  []uint64          `json:"depends,omitempty"` // must be there for the update to happen
}

// storeAddBody is a new record.
type storeAddBody struct {
	Group    string `json:"group"`
	Data     string `json:"data,omitempty"`
	Timespec *int64 `json:"timespec,omitempty"` // available from then on, Unix ms; 0: now; negative: now plus its absolute value
	Duration *int64 `json:"duration,omitempty"` // the same, if timespec is absent: what the original client calls it
}

// storeChangeBody replaces a record; the group stays, and what is absent becomes empty.
type storeChangeBody struct {
	ID       uint64 `json:"id"`
	Data     string `json:"data,omitempty"`
	Timespec *int64 `json:"timespec,omitempty"` // as in an add
	Duration *int64 `json:"duration,omitempty"` // as in an add
}

// storeClaimBody is the body of POST /taskstore/claim.
type storeClaimBody struct {
	ClientID *int64   `json:"clientid"` // required
	Group    string   `json:"group"`
	Duration int64    `json:"duration,omitempty"` // ms; negative counts as 0
	Depends  []uint64 `json:"depends,omitempty"`
}

// storeTasksAnswer has the new records: adds, then updates.
type storeTasksAnswer struct {
	Tasks []*StoreTask `json:"tasks"`
}

// storeErrorsAnswer says why nothing happened.
type storeErrorsAnswer struct {
	Errors []string     `json:"errors"` // the same as texts
	Error  *StoreErrors `json:"error"`
}

// storeProblemFields is what a problem below /taskstore has besides: the text that the original clients look for.
type storeProblemFields struct {
	Errors []string `json:"errors"`
}
