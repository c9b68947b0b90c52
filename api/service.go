// Package api is taskrt over HTTP: the Service interface, a handler that serves any Service, and a Go client that
// implements Service against a handler. The handler sees nothing but Service; node.Node implements it in-process.
package api

import "context"

// Service is what a cluster does for its users. Every error is an *Error (or wraps one).
type Service interface {
	// Submit creates one task or meets an existing one; it returns once that is durable (SPEC T6, I3, I4).
	Submit(ctx context.Context, r SubmitRequest) (*SubmitReply, error)
	// SubmitBatch submits up to MaxBatch tasks; each has its own answer, in order (SPEC H1).
	SubmitBatch(ctx context.Context, rs []SubmitRequest) ([]SubmitResult, error)
	// Task returns a task, after waiting for a condition if asked (SPEC W1).
	Task(ctx context.Context, namespace, id string, o GetOptions) (*Task, error)
	// Tasks lists tasks in order of creation.
	Tasks(ctx context.Context, r ListRequest) (*ListReply, error)
	// Cancel asks that a task end as CANCELLED (SPEC L8).
	Cancel(ctx context.Context, namespace, id string) (*CancelReply, error)
	// Remove deletes a record (SPEC L9).
	Remove(ctx context.Context, namespace, id string) error
	// Log returns what the attempts of a task logged.
	Log(ctx context.Context, namespace, id string) (*LogReply, error)

	// Push uploads a module and activates its behaviors in one log entry (SPEC B2).
	Push(ctx context.Context, r PushRequest) (*Module, error)
	Modules(ctx context.Context, namespace string) ([]Module, error)
	Module(ctx context.Context, namespace, digest string) (*Module, error)
	Behaviors(ctx context.Context, namespace string) ([]Behavior, error)
	Behavior(ctx context.Context, namespace, name string) (*BehaviorDetail, error)

	// Cluster describes the members, the workers and the totals.
	Cluster(ctx context.Context) (*Cluster, error)
	// Ready says whether this node knows a leader and is caught up and its disk works; nil or an *Error (SPEC H1).
	Ready(ctx context.Context) error
}

// Limits of requests (SPEC H1, H3).
const (
	MaxBody      = 8 << 20  // JSON body, bytes
	MaxInline    = 64 << 10 // params, result, checkpoint, bytes
	MaxModule    = 32 << 20 // wasm file, bytes
	MaxBatch     = 10_000   // tasks in one POST /v1/tasks
	MaxListLimit = 1_000
	MaxWait      = 5 * 60 // seconds of one ?wait=
)
