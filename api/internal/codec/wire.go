// Package codec is JSON as it travels between client and server. It has the types that stand around the values of api.Service,
// the readers and writers of submits and their answers, without reflection, for both ends, and the strict decoder of bodies.
package codec

//go:generate go run ../../../internal/genfields -root ../../..

import "github.com/taskrt/taskrt/api"

// MaintenanceRunsAnswer is {"runs": […]}.
type MaintenanceRunsAnswer struct {
	Runs []api.MaintenanceRun `json:"runs"`
}

// MaintenanceRunAnswer is {"run": …}.
type MaintenanceRunAnswer struct {
	Run *api.MaintenanceRun `json:"run"`
}

// OperationAnswer is {"operation": …}.
type OperationAnswer struct {
	Operation *api.Operation `json:"operation"`
}

// NamespaceAnswer is {"namespace": …}.
type NamespaceAnswer struct {
	Namespace *api.Namespace `json:"namespace"`
}

// NamespacesAnswer is {"namespaces": […]}, in the order of their names.
type NamespacesAnswer struct {
	Namespaces []api.Namespace `json:"namespaces"`
}

// BlobAnswer is {"blob": …}.
type BlobAnswer struct {
	Blob *api.Blob `json:"blob"`
}

// VersionsAnswer is {"versions": […]}, newest first.
type VersionsAnswer struct {
	Versions []api.BehaviorVersion `json:"versions"`
}

// ActivateBody is the body of POST /v1/behaviors/{name}/activate.
type ActivateBody struct {
	Version string `json:"version"` // one of …/versions
}

// WorkersAnswer is {"workers": […]}.
type WorkersAnswer struct {
	Workers []api.Worker `json:"workers"`
}

// MembersAnswer is {"members": […]}.
type MembersAnswer struct {
	Members []api.Node `json:"members"`
}

// DrainBody is the body of POST /v1/cluster/members/{id}/drain.
type DrainBody struct {
	Drain *bool `json:"drain,omitempty"` // default true; false: the member's workers get tasks again
}

// NodeAnswer is {"node": …}.
type NodeAnswer struct {
	Node *api.Node `json:"node"`
}

// ModuleAnswer is {"module": …}.
type ModuleAnswer struct {
	Module *api.Module `json:"module"`
}

// ModulesAnswer is {"modules": […]}.
type ModulesAnswer struct {
	Modules []api.Module `json:"modules"`
}

// BehaviorsAnswer is {"behaviors": […]}.
type BehaviorsAnswer struct {
	Behaviors []api.Behavior `json:"behaviors"`
}

// BehaviorAnswer is {"behavior": …}.
type BehaviorAnswer struct {
	Behavior *api.BehaviorDetail `json:"behavior"`
}

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status string `json:"status"`
}

// SubmitMany is the body of POST /v1/tasks that submits up to MaxBatch tasks. The namespace is for tasks that name none.
type SubmitMany struct {
	Namespace string              `json:"namespace,omitempty"`
	Tasks     []api.SubmitRequest `json:"tasks"`
}

// SubmitResults answers SubmitMany: one result for each task, in order.
type SubmitResults struct {
	Results []api.SubmitResult `json:"results"`
}

// MinimalTask is what "Prefer: return=minimal" leaves of a task.
//
//fields:json
type MinimalTask struct {
	Namespace string   `json:"namespace"`
	ID        string   `json:"id"`
	Behavior  string   `json:"behavior"`
	Status    string   `json:"status"`
	Final     bool     `json:"final"`
	Rev       uint64   `json:"rev"`
	CreatedAt api.Time `json:"created_at"`
}

// MinimalReply is a SubmitReply with "Prefer: return=minimal".
//
//fields:json
type MinimalReply struct {
	Task    MinimalTask `json:"task"`
	Outcome string      `json:"outcome"`
}

// MinimalResult is a SubmitResult with "Prefer: return=minimal".
type MinimalResult struct {
	*MinimalReply
	Error *api.Error `json:"error,omitempty"`
}

// MinimalResults answers SubmitMany with "Prefer: return=minimal".
type MinimalResults struct {
	Results []MinimalResult `json:"results"`
}

// MinimalFinishReply is a FinishReply with "Prefer: return=minimal".
//
//fields:json
type MinimalFinishReply struct {
	Task     MinimalTask `json:"task"`
	Repeated bool        `json:"repeated,omitempty"`
}

// MinimalFinishResult is a FinishResult with "Prefer: return=minimal".
type MinimalFinishResult struct {
	*MinimalFinishReply
	Error *api.Error `json:"error,omitempty"`
}

// TaskAnswer is {"task": …}.
//
//fields:json answer
type TaskAnswer struct {
	Task *api.Task `json:"task"`
}

// Reports is the body of POST /v1/tasks:finish: at most MaxReports reports, each with its id.
//
//fields:json
type Reports struct {
	Namespace string              `json:"namespace,omitempty"` // for reports that name none
	Reports   []api.FinishRequest `json:"reports"`
}

// FinishResults answers Reports: one result for each report, in order.
type FinishResults struct {
	Results []api.FinishResult `json:"results"`
}
