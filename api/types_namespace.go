package api

import "io"

// Statuses of a namespace (SPEC N1).
const (
	NamespaceActive   = "ACTIVE"
	NamespaceInactive = "INACTIVE"
	NamespacePurging  = "PURGING"
	NamespacePurged   = "PURGED"
)

// Namespace is a namespace as JSON (SPEC N1).
type Namespace struct {
	Name      string             `json:"name"`
	Status    string             `json:"status"` // ACTIVE, INACTIVE, PURGING, PURGED
	Quota     Quota              `json:"quota"`
	Retention NamespaceRetention `json:"retention"`
	Share     Share              `json:"share"`
	Usage     Usage              `json:"usage"`
	Rev       uint64             `json:"rev"`
	CreatedAt *Time              `json:"created_at,omitempty"`
	ChangedAt *Time              `json:"changed_at,omitempty"` // of the status
}

// Quota bounds a namespace; 0: no limit.
type Quota struct {
	MaxTasks         int64 `json:"max_tasks"`          // task records, final ones included
	MaxBytes         int64 `json:"max_bytes"`          // of payloads and of the blobs that they refer to
	SubmitsPerSecond int64 `json:"submits_per_second"` // a second's worth may come at once
}

// Share is how much of the workers' slots a namespace gets (SPEC N2).
type Share struct {
	Weight     int64 `json:"weight,omitempty"`      // 1..100; 0 or absent: 10. Namespaces that wait for slots share the slots by their weights
	MaxRunning int64 `json:"max_running,omitempty"` // tasks that run at once; 0: no limit
}

// NamespaceRetention is what a namespace keeps where a behavior says nothing (SPEC T9).
type NamespaceRetention struct {
	Success Keep  `json:"success,omitzero"` // absent: the default, 72h
	Failure Keep  `json:"failure,omitzero"` // absent: the default, 336h
	Count   int64 `json:"count,omitempty"`  // final tasks of the namespace; 0: 1,000,000
}

// Keep is how long to keep something: a duration, or "never", which means that it is never deleted. The zero value says
// nothing.
type Keep struct {
	For   Duration
	Never bool
}

// Usage is what a namespace holds.
type Usage struct {
	Tasks      int64 `json:"tasks"`
	Running    int64 `json:"running"`
	Bytes      int64 `json:"bytes"`
	Operations int64 `json:"operations"`
	Records    int64 `json:"records"` // of the TaskStore API
	Behaviors  int64 `json:"behaviors"`
	Forever    int64 `json:"kept_forever"` // final tasks that their behaviors keep for ever
	// Excess counts final tasks to be kept for ever, beyond the first 1,000,000 in a namespace without max_tasks. They are kept
	// for the default times (SPEC T9).
	Excess int64 `json:"too_many_kept"`
}

// NamespaceSettings create or change a namespace. A setting that is absent stays as it was, or has its default in a new
// namespace.
type NamespaceSettings struct {
	Name      string              `json:"name,omitempty"` // 3..64 of a-z 0-9 - _, beginning with a letter
	Quota     *Quota              `json:"quota,omitempty"`
	Retention *NamespaceRetention `json:"retention,omitempty"`
	Share     *Share              `json:"share,omitempty"`
}

// ExportRequest is GET /v1/namespaces/{name}/export: JSON lines (docs/namespaces.md).
type ExportRequest struct {
	Name string
	Raw  bool // every stored record as it is
}

// ImportRequest is POST /v1/namespaces/{name}/import: the lines of an export.
type ImportRequest struct {
	Name string
	Body io.Reader
	// Rehash is about tasks whose IDs follow from their params and the namespace that was exported. It gives them the IDs that
	// they would have in this namespace. Without it an equal submit makes another task.
	Rehash bool
}

// ImportReply says what an import took up. Records that existed already were left alone.
type ImportReply struct {
	Tasks      int64 `json:"tasks"`
	Operations int64 `json:"operations"`
	Records    int64 `json:"records"`
	Behaviors  int64 `json:"behaviors"`
	Modules    int64 `json:"modules"`
	Blobs      int64 `json:"blobs"`
	Skipped    int64 `json:"skipped"` // records that existed already
	// ForeignIDs counts tasks whose IDs follow from their params and the namespace that was exported: an equal submit makes
	// another task here. Rehashed counts tasks that were given the IDs of this namespace.
	ForeignIDs int64           `json:"foreign_ids"`
	Rehashed   int64           `json:"rehashed"`
	Refused    int64           `json:"refused"`  // lines that were not taken up
	Refusals   []ImportRefusal `json:"refusals"` // the first 1,000 of them
}

// ImportRefusal is a line of an export that was not taken up, and why.
type ImportRefusal struct {
	Line   int64  `json:"line"` // from 1
	Code   string `json:"code"`
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail"`
}
