// Package insight is the contract of questions about what does not go on: which tasks failed, by group (SPEC Q2).
package insight

import (
	"context"
	"embed"

	"github.com/taskrt/taskrt/api"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go
var Sources embed.FS

// Groups of failures that an answer may have, and has if nothing else is asked for.
const (
	MaxGroups     = 10_000
	DefaultGroups = 100
)

// FailuresRequest is GET /v1/failures (SPEC Q2).
type FailuresRequest struct {
	Namespace string
	Behaviors []string // any of them; * stands for any text
	Errors    []string // codes; any of them
	Limit     int      // groups: 1 to MaxGroups; 0 means DefaultGroups
	// Sight says of which behaviors the caller may see failures. Nil: of all.
	Sight func(behavior string) bool
}

// Check tells what is wrong with the request by itself, and fills in namespace and limit; nil or an *api.Error.
func (r *FailuresRequest) Check() error {
	list := api.ListRequest{Namespace: r.Namespace, Behaviors: r.Behaviors, Errors: r.Errors}
	if err := list.Check(); err != nil {
		return err
	}
	r.Namespace, r.Behaviors, r.Errors = list.Namespace, list.Behaviors, list.Errors
	if r.Limit == 0 {
		r.Limit = DefaultGroups
	}
	if r.Limit < 0 || r.Limit > MaxGroups {
		e := api.FieldError(api.CodeInvalidField, "limit", "must be 1 to %d", MaxGroups)
		e.Limit = MaxGroups
		return e
	}
	return nil
}

// FailuresReply groups the tasks that are a FAILURE now by behavior, version and code.
type FailuresReply struct {
	Groups []FailureGroup `json:"groups"`          // those with the most failures first
	Other  *FailureCounts `json:"other,omitempty"` // all failures that are in none of the groups; absent: there are none
}

// FailureGroup is the failures of one behavior, version and code.
type FailureGroup struct {
	Behavior string `json:"behavior"`
	Version  string `json:"version,omitempty"` // the pinned one
	Code     string `json:"code"`
	FailureCounts
	Sample string `json:"sample,omitempty"` // ID of the task that failed last; absent: it has changed just now
}

// FailureCounts says how many tasks failed, and when.
type FailureCounts struct {
	Retrying int64    `json:"retrying"` // tasks that wait for their next attempt
	Final    int64    `json:"final"`    // tasks that will not run again by themselves
	FirstAt  api.Time `json:"first_at"` // of the last outcome of the task that failed first
	LastAt   api.Time `json:"last_at"`  // of the last outcome of the task that failed last
}

// Insight answers questions about what does not go on.
type Insight interface {
	// Failures groups the tasks that have failed (SPEC Q2).
	Failures(ctx context.Context, r FailuresRequest) (*FailuresReply, error)
}
