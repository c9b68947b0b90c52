package api

// What stands around the values of Service on the wire.

// namespaceAnswer is {"namespace": …}.
type namespaceAnswer struct {
	Namespace *Namespace `json:"namespace"`
}

// namespacesAnswer is {"namespaces": […]}, by name.
type namespacesAnswer struct {
	Namespaces []Namespace `json:"namespaces"`
}

// blobAnswer is {"blob": …}.
type blobAnswer struct {
	Blob *Blob `json:"blob"`
}

// versionsAnswer is {"versions": […]}, newest first.
type versionsAnswer struct {
	Versions []BehaviorVersion `json:"versions"`
}

// activateBody is the body of POST /v1/behaviors/{name}/activate.
type activateBody struct {
	Version string `json:"version"` // one of …/versions
}

// workersAnswer is {"workers": […]}.
type workersAnswer struct {
	Workers []Worker `json:"workers"`
}

// membersAnswer is {"members": […]}.
type membersAnswer struct {
	Members []Node `json:"members"`
}

// drainBody is the body of POST /v1/cluster/members/{id}/drain.
type drainBody struct {
	Drain *bool `json:"drain,omitempty"` // default true; false: its workers get tasks again
}

// nodeAnswer is {"node": …}.
type nodeAnswer struct {
	Node *Node `json:"node"`
}

// moduleAnswer is {"module": …}.
type moduleAnswer struct {
	Module *Module `json:"module"`
}

// modulesAnswer is {"modules": […]}.
type modulesAnswer struct {
	Modules []Module `json:"modules"`
}

// behaviorsAnswer is {"behaviors": […]}.
type behaviorsAnswer struct {
	Behaviors []Behavior `json:"behaviors"`
}

// behaviorAnswer is {"behavior": …}.
type behaviorAnswer struct {
	Behavior *BehaviorDetail `json:"behavior"`
}

// health is the answer of /healthz and /readyz.
type health struct {
	Status string `json:"status"`
}

// submitMany is the body of POST /v1/tasks that submits up to MaxBatch tasks. The namespace is that of tasks which name
// none.
type submitMany struct {
	Namespace string          `json:"namespace,omitempty"`
	Tasks     []SubmitRequest `json:"tasks"`
}

// submitResults answers submitMany: one result for each task, in order.
type submitResults struct {
	Results []SubmitResult `json:"results"`
}

// minimalTask is what "Prefer: return=minimal" leaves of a task.
type minimalTask struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Behavior  string `json:"behavior"`
	Status    string `json:"status"`
	Final     bool   `json:"final"`
	Rev       uint64 `json:"rev"`
	CreatedAt Time   `json:"created_at"`
}

// minimalReply is a SubmitReply under that preference.
type minimalReply struct {
	Task    minimalTask `json:"task"`
	Outcome string      `json:"outcome"`
}

// minimalResult is a SubmitResult under that preference.
type minimalResult struct {
	*minimalReply
	Error *Error `json:"error,omitempty"`
}

// minimalResults answers submitMany under that preference.
type minimalResults struct {
	Results []minimalResult `json:"results"`
}

// taskAnswer is {"task": …}.
type taskAnswer struct {
	Task *Task `json:"task"`
}

// reports is the body of POST /v1/tasks:finish: at most MaxReports reports, each with its id.
type reports struct {
	Namespace string          `json:"namespace,omitempty"` // of reports that name none
	Reports   []FinishRequest `json:"reports"`
}

// finishResults answers reports: one result for each, in order.
type finishResults struct {
	Results []FinishResult `json:"results"`
}
