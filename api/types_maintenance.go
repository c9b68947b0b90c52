package api

// MaintenanceRequest is POST /v1/maintenance/runs (SPEC M1, M4).
type MaintenanceRequest struct {
	DryRun       bool  `json:"dry_run,omitempty"`       // count, delete nothing
	SupersedeRun int64 `json:"supersede_run,omitempty"` // end exactly this unfinished run
}

// MaintenanceStarted says which run will do what was asked for.
type MaintenanceStarted struct {
	Run int64 `json:"run"`
}

// MaintenanceRun is the record of a run (SPEC M4).
type MaintenanceRun struct {
	Run int64 `json:"run"` // the attempt of the task _system/maintenance
	// WAITING: the run was asked for and has not begun. RUNNING, SUCCESS, FAILURE. Or the run ended without an outcome: LOST,
	// GIVEN_BACK, SNOOZED (the next run takes it over), SUPERSEDED, REMOVED.
	Status      string             `json:"status"`
	Worker      string             `json:"worker,omitempty"`
	DryRun      bool               `json:"dry_run"`
	StartedAt   *Time              `json:"started_at,omitempty"`
	FinishedAt  *Time              `json:"finished_at,omitempty"`
	Success     bool               `json:"success"`
	Message     string             `json:"message,omitempty"`
	SucceededBy int64              `json:"succeeded_by,omitempty"` // the run that took the place of this one, which ended without an outcome
	Before      *Time              `json:"before,omitempty"`       // nothing newer is deleted
	Objects     []MaintenanceCount `json:"objects"`
	Filter      MaintenanceFilter  `json:"filter"`
}

// MaintenanceCount is what a run did with the objects of one kind in one namespace.
type MaintenanceCount struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // "": the objects are the cluster's
	Scanned   int64  `json:"scanned"`
	Retained  int64  `json:"retained"`
	Newer     int64  `json:"newer"`
	Deleted   int64  `json:"deleted"` // in a dry run: how many would have been deleted
}

// MaintenanceFilter describes the Bloom filter of a run.
type MaintenanceFilter struct {
	Items             int64   `json:"items"`
	Bits              int64   `json:"bits"`
	Hashes            int64   `json:"hashes"`
	FalsePositiveRate float64 `json:"false_positive_rate"`
}

// MaintenanceInfo is GET /v1/maintenance: how maintenance is set up, and what it does now.
type MaintenanceInfo struct {
	Every      Duration        `json:"every"`  // 0s: only on demand
	Paused     bool            `json:"paused"` // whether its behavior is paused
	Status     string          `json:"status"` // of the task _system/maintenance
	NextRun    *Time           `json:"next_run,omitempty"`
	Unfinished int64           `json:"unfinished,omitempty"` // the run that is under way
	Last       *MaintenanceRun `json:"last,omitempty"`       // the last run that finished
	Grace      Duration        `json:"grace"`
	ScanRate   int64           `json:"scan_per_second"`
	DeleteRate int64           `json:"delete_per_second"`
	Batch      int64           `json:"batch"`
}
