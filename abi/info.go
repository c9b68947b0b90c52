package abi

// TaskInfo is the JSON document of channel Info. The worker fills it. A guest must ignore fields that it does not know.
// Fields that hold nothing are left out, unless noted. README.md has an example.
type TaskInfo struct {
	Namespace   string `json:"namespace"`
	ID          string `json:"id"`
	Behavior    string `json:"behavior"`
	Version     string `json:"version"`      // of the behavior, lower-case hex
	Attempt     int64  `json:"attempt"`      // 1, 2, … (SPEC T8)
	MaxAttempts int64  `json:"max_attempts"` // of the retry policy; 0: no limit
	Failures    int64  `json:"failures"`     // failed runs since the last success, before this one
	Token       uint64 `json:"token"`        // fencing token of this lease: larger for every later lease of the cluster

	Parent     string            `json:"parent,omitempty"`      // operation, or the task that submitted this one
	Partition  string            `json:"partition,omitempty"`   // of the operation
	DeadlineMS int64             `json:"deadline_ms,omitempty"` // the task's deadline, Unix ms; the attempt's own limit is clock(1)
	CreatedMS  int64             `json:"created_ms,omitempty"`  // Unix ms
	Labels     map[string]string `json:"labels,omitempty"`
	Node       string            `json:"node,omitempty"`
	Worker     string            `json:"worker,omitempty"`
	Priority   int8              `json:"priority"` // 0..9 (SPEC T4)
}
