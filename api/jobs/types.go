package jobs

import "github.com/taskrt/taskrt/api"

// JobFilter says which tasks are meant, as the filters of a list do (SPEC Q1).
type JobFilter struct {
	Status    []string  `json:"status,omitempty"` // any of them: CREATED, RUNNING, SUCCESS, FAILURE, RETRYING, DEAD
	Final     *bool     `json:"final,omitempty"`
	Behavior  []string  `json:"behavior,omitempty"` // any of them; * stands for any text
	Error     []string  `json:"error,omitempty"`    // codes; any of them
	Worker    string    `json:"worker,omitempty"`   // of the current attempt, or of the last
	Node      string    `json:"node,omitempty"`
	Parent    string    `json:"parent,omitempty"`
	Label     []string  `json:"label,omitempty"` // name=value: all of them
	IDPrefix  string    `json:"id_prefix,omitempty"`
	DueBefore *api.Time `json:"due_before,omitempty"`

	CreatedFrom  *api.Time `json:"created_from,omitempty"`
	CreatedTo    *api.Time `json:"created_to,omitempty"` // before it
	StartedFrom  *api.Time `json:"started_from,omitempty"`
	StartedTo    *api.Time `json:"started_to,omitempty"`
	FinishedFrom *api.Time `json:"finished_from,omitempty"`
	FinishedTo   *api.Time `json:"finished_to,omitempty"`
}

// JobRequest starts a bulk job: POST /v1/tasks:cancel, :retry, :resubmit and :remove (SPEC Q3).
type JobRequest struct {
	Namespace string    `json:"namespace,omitempty"`
	Filter    JobFilter `json:"filter,omitzero"`
	All       bool      `json:"all,omitempty"`     // every task of the namespace is meant: a filter that asks for nothing needs it
	DryRun    bool      `json:"dry_run,omitempty"` // only count the tasks that are meant now
	Rate      int64     `json:"rate,omitempty"`    // tasks per second, at most 100000; default 5000

	Version        string        `json:"version,omitempty"`         // retry: the version to run, or "active"
	KeepCheckpoint bool          `json:"keep_checkpoint,omitempty"` // retry: by another version, too
	Delay          *api.Duration `json:"delay,omitempty"`           // retry, resubmit: due that long after the task's turn

	// May says which tasks a dry run counts, by behavior and by the number of the token that created it. Nil: all.
	May func(behavior string, creator uint64) bool `json:"-"`
}

// Job is a bulk job.
type Job struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Action    string `json:"action"` // cancel, retry, resubmit, remove
	// SELECTING: nothing is changed yet. RUNNING. SUCCESS: each task had its turn. CANCELLED, FAILURE: the others had none.
	Status    string        `json:"status"`
	Filter    JobFilter     `json:"filter"` // as it was completed for the action
	Rate      int64         `json:"rate"`
	Version   string        `json:"version,omitempty"`
	Delay     *api.Duration `json:"delay,omitempty"`
	Creator   string        `json:"creator,omitempty"` // name of the token under whose rights it acts
	CreatedAt *api.Time     `json:"created_at"`
	EndedAt   *api.Time     `json:"ended_at,omitempty"`

	Selected      int64  `json:"selected"`                 // tasks, of one state
	SelectedIndex uint64 `json:"selected_index,omitempty"` // the log index of that state
	Position      int64  `json:"position"`                 // tasks that had their turn: the sum of the next five
	Done          int64  `json:"done"`
	Changed       int64  `json:"changed"`   // they were no longer what was asked for
	Gone          int64  `json:"gone"`      // they were removed
	Refused       int64  `json:"refused"`   // as the action on that one task would have been
	Forbidden     int64  `json:"forbidden"` // the creator lacks the role for them

	Error *JobFailure `json:"error,omitempty"` // FAILURE: why
}

// JobFailure is why a job failed.
type JobFailure struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

// JobReply is a job, or what a dry run has counted.
type JobReply struct {
	Job     *Job   `json:"job,omitempty"`
	Matches *int64 `json:"matches,omitempty"`
}

// JobList lists jobs, the newest first: all that are under way, and the 50 that ended last.
type JobList struct {
	Jobs []Job `json:"jobs"`
}
