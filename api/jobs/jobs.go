// Package jobs is the contract of bulk jobs: one action on all tasks that a filter selects (SPEC Q3).
package jobs

import (
	"context"
	"embed"
	"reflect"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go
var Sources embed.FS

// Action is what a job does with each task.
type Action string

// The actions.
const (
	Cancel   Action = "cancel"
	Retry    Action = "retry"
	Resubmit Action = "resubmit"
	Remove   Action = "remove"
)

// Actions lists the actions.
var Actions = []Action{Cancel, Retry, Resubmit, Remove}

// The statuses of a job.
const (
	Selecting = "SELECTING"
	Running   = "RUNNING"
	Success   = "SUCCESS"
	Cancelled = "CANCELLED"
	Failed    = "FAILURE"
)

// The bounds of JobRequest.Rate, in tasks per second.
const (
	DefaultRate = 5_000
	MaxRate     = 100_000
)

// Ended reports whether the job does nothing more.
func (j *Job) Ended() bool { return j.Status != Selecting && j.Status != Running }

// List returns the filter as that of a list.
func (f *JobFilter) List(namespace string) api.ListRequest {
	at := func(t *api.Time) *time.Time {
		if t == nil {
			return nil
		}
		return &t.Time
	}
	return api.ListRequest{
		Namespace: namespace, Statuses: f.Status, Final: f.Final, Behaviors: f.Behavior, Errors: f.Error, Worker: f.Worker, Node: f.Node, Parent: f.Parent,
		Labels: f.Label, IDPrefix: f.IDPrefix, DueBefore: at(f.DueBefore), Created: api.TimeRange{From: at(f.CreatedFrom), To: at(f.CreatedTo)},
		Started: api.TimeRange{From: at(f.StartedFrom), To: at(f.StartedTo)}, Finished: api.TimeRange{From: at(f.FinishedFrom), To: at(f.FinishedTo)},
	}
}

// Of returns the filter of a list as that of a job.
func Of(r *api.ListRequest) JobFilter {
	at := func(t *time.Time) *api.Time {
		if t == nil {
			return nil
		}
		return &api.Time{Time: *t}
	}
	return JobFilter{
		Status: r.Statuses, Final: r.Final, Behavior: r.Behaviors, Error: r.Errors, Worker: r.Worker, Node: r.Node, Parent: r.Parent, Label: r.Labels,
		IDPrefix: r.IDPrefix, DueBefore: at(r.DueBefore), CreatedFrom: at(r.Created.From), CreatedTo: at(r.Created.To),
		StartedFrom: at(r.Started.From), StartedTo: at(r.Started.To), FinishedFrom: at(r.Finished.From), FinishedTo: at(r.Finished.To),
	}
}

// Check tells what is wrong with the request by itself, and completes it: a cancel means tasks that are not final, and a retry means those that failed,
// unless the filter says more.
func (r *JobRequest) Check(a Action) error {
	if reflect.ValueOf(r.Filter).IsZero() && !r.All {
		return api.FieldError(api.CodeInvalidField, "filter", "says nothing: say which tasks are meant, or all: true")
	}
	list := r.Filter.List(r.Namespace)
	if err := list.Check(); err != nil {
		return err
	}
	r.Namespace = list.Namespace
	r.Filter.Status, r.Filter.Behavior, r.Filter.Error, r.Filter.Label = list.Statuses, list.Behaviors, list.Errors, list.Labels
	if no := false; a == Cancel && r.Filter.Final == nil {
		r.Filter.Final = &no
	}
	if a == Retry && len(r.Filter.Status) == 0 {
		r.Filter.Status = []string{"FAILURE"}
	}
	if r.Rate == 0 {
		r.Rate = DefaultRate
	}
	switch {
	case r.Rate < 1 || r.Rate > MaxRate:
		e := api.FieldError(api.CodeInvalidField, "rate", "must be 1 to %d tasks per second", MaxRate)
		e.Limit = MaxRate
		return e
	case a != Retry && (r.Version != "" || r.KeepCheckpoint):
		return api.FieldError(api.CodeInvalidField, "version", "only a retry takes a version and keeps a checkpoint")
	case len(r.Version) > 256:
		return api.FieldError(api.CodeInvalidField, "version", "must be at most 256 bytes")
	case r.Delay != nil && (a != Retry && a != Resubmit || *r.Delay < 0):
		return api.FieldError(api.CodeInvalidField, "delay", "only a retry and a resubmit take a delay, which is not negative")
	}
	return nil
}

// Number reads the ID of a job.
func Number(id string) (uint64, error) {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return 0, NotFound(id)
	}
	return n, nil
}

// NotFound is the answer for a job that is not there, and for a job that the caller may not see.
func NotFound(id string) error {
	return api.NewError(api.CodeJobNotFound, "there is no bulk job %.40s, or it ended long ago", id)
}

// Jobs starts, shows and cancels bulk jobs.
type Jobs interface {
	// Start starts a job, or counts the tasks that it would be about.
	Start(ctx context.Context, a Action, r JobRequest) (*JobReply, error)
	// List lists the jobs of a namespace; "": of all.
	List(ctx context.Context, namespace string) (*JobList, error)
	// Job returns a job.
	Job(ctx context.Context, id string) (*JobReply, error)
	// Cancel ends a job. What it has done stays done.
	Cancel(ctx context.Context, id string) (*JobReply, error)
}
