package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/schemas"
	"github.com/taskrt/taskrt/task/access"
)

var operationErrors = []string{"namespace_not_found", "operation_not_found"}

// operationRoutes are the routes of operations (SPEC section 7).
func operationRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	limit := param{name: "limit", kind: numberParam, doc: "Of a page: 1 to 1000, default 100."}
	cursor := param{name: "cursor", doc: "Of the page before."}
	return []route{
		{
			method: post, path: "/v1/operations", id: "startOperation", needs: in(access.Submit), spaceInBody: true, adds: true, traced: true, serve: (*handler).startOperation,
			summary: "Start an operation: one task per partition, then a completion, one outcome.",
			query:   []param{namespaceParam}, body: asJSON(api.StartOperationRequest{}),
			answers: []success{{http.StatusCreated, "It runs.", asJSON(codec.OperationAnswer{})}},
			errors: []string{
				"namespace_not_found", "namespace_inactive", "namespace_purging", api.CodeNamespaceReserved, "quota_exceeded", api.CodeBehaviorNotFound, "behavior_changed",
				"not_an_operation", "operation_conflict", "already_exists", "reserved_id", "blob_gone", api.CodeInvalidParams, api.CodeParamsSchema,
			},
		},
		{
			method: get, path: "/v1/operations", id: "listOperations", needs: in(auth.SeeTasks), summary: "List operations in order of creation.", serve: (*handler).listOperations,
			query: []param{
				namespaceParam, {name: "status", values: schemas.Words("OperationStatus")}, {name: "behavior", doc: "The behavior's name."},
				{name: "target", doc: "What it runs on."}, limit, cursor, staleParam, minIndexParam,
			},
			answers: []success{ok(api.OperationsReply{})}, errors: namespaceErrors,
		},
		{
			method: get, path: "/v1/operations/{id}", id: "getOperation", needs: in(auth.SeeTasks), serve: (*handler).getOperation,
			summary: "Get an operation, after waiting for a condition if asked.",
			query: []param{
				namespaceParam,
				{name: "wait", kind: durationParam, doc: "Answer when the condition holds, or after this time with the state of then; at most 5m."},
				{name: "until", doc: "final (default), completing, or rev:N. Counts change without a rev. A final state ends every wait."},
				staleParam, minIndexParam,
			},
			answers: []success{ok(codec.OperationAnswer{})}, errors: append([]string{api.CodeRemoved}, operationErrors...),
		},
		{
			method: del, path: "/v1/operations/{id}", id: "removeOperation", needs: in(auth.Steer), serve: (*handler).removeOperation,
			summary: "Delete it and its tasks; those that run are told to halt.",
			query:   []param{namespaceParam}, answers: []success{noContent}, errors: append([]string{"namespace_purging"}, operationErrors...),
		},
		{
			method: post, path: "/v1/operations/{id}/cancel", id: "cancelOperation", needs: in(auth.Steer), serve: changeOperation(api.Service.CancelOperation),
			summary: "Cancel its partitions that have not ended; the completion runs all the same.",
			query:   []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true,
			answers: []success{ok(codec.OperationAnswer{})}, errors: append([]string{"operation_state", "not_cancellable", "namespace_purging"}, operationErrors...),
		},
		{
			method: post, path: "/v1/operations/{id}/retry", id: "retryOperation", needs: in(auth.Steer), serve: changeOperation(api.Service.RetryOperation),
			summary: "Run again what failed of a failed operation: its partitions, or its completion.",
			query:   []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true,
			answers: []success{ok(codec.OperationAnswer{})},
			errors:  append([]string{"operation_state", "operation_conflict", "namespace_inactive", "namespace_purging", api.CodeVersionNotFound}, operationErrors...),
		},
		{
			method: get, path: "/v1/operations/{id}/partitions", id: "listPartitions", needs: in(auth.SeeTasks), serve: (*handler).listPartitions,
			summary: "List the tasks of its partitions, in order; those not made yet are left out.",
			query: []param{
				namespaceParam, {name: "status", values: schemas.Words("TaskStatus")}, limit, cursor,
			},
			answers: []success{ok(api.ListReply{})}, errors: operationErrors,
		},
	}
}
