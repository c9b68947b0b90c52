package api

import "net/http"

var operationErrors = []string{"namespace_not_found", "operation_not_found"}

// operationRoutes are those of fan-outs (SPEC section 7).
func operationRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	limit := param{name: "limit", kind: numberParam, doc: "Of a page: 1 to 1000, default 100."}
	cursor := param{name: "cursor", doc: "Of the page before."}
	return []route{
		{
			method: post, path: "/v1/operations", id: "startOperation", adds: true, serve: (*handler).startOperation,
			summary: "Start an operation: one task per partition, then a completion, one outcome.",
			query:   []param{namespaceParam}, body: asJSON(StartOperationRequest{}),
			answers: []success{{http.StatusCreated, "It runs.", asJSON(operationAnswer{})}},
			errors: []string{
				"namespace_not_found", "namespace_inactive", "namespace_purging", "quota_exceeded", CodeBehaviorNotFound, "behavior_changed",
				"not_an_operation", "operation_conflict", "already_exists", "reserved_id", "blob_gone", CodeInvalidParams, CodeParamsSchema,
			},
		},
		{
			method: get, path: "/v1/operations", id: "listOperations", summary: "List operations in order of creation.", serve: (*handler).listOperations,
			query: []param{
				namespaceParam, {name: "status", values: operationStatuses}, {name: "behavior", doc: "The behavior's name."},
				{name: "target", doc: "What it runs on."}, limit, cursor, staleParam, minIndexParam,
			},
			answers: []success{ok(OperationsReply{})}, errors: namespaceErrors,
		},
		{
			method: get, path: "/v1/operations/{id}", id: "getOperation", serve: (*handler).getOperation,
			summary: "Get an operation, after waiting for a condition if asked.",
			query: []param{
				namespaceParam,
				{name: "wait", kind: durationParam, doc: "Answer when the condition holds, or after this time with the state of then; at most 5m."},
				{name: "until", doc: "final (default), completing, or rev:N. Counts change without a rev. A final state ends every wait."},
				staleParam, minIndexParam,
			},
			answers: []success{ok(operationAnswer{})}, errors: append([]string{CodeRemoved}, operationErrors...),
		},
		{
			method: del, path: "/v1/operations/{id}", id: "removeOperation", serve: (*handler).removeOperation,
			summary: "Delete it and its tasks; those that run are told to halt.",
			query:   []param{namespaceParam}, answers: []success{noContent}, errors: append([]string{"namespace_purging"}, operationErrors...),
		},
		{
			method: post, path: "/v1/operations/{id}/cancel", id: "cancelOperation", serve: changeOperation(Service.CancelOperation),
			summary: "Cancel its partitions that have not ended; the completion runs all the same.",
			query:   []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true,
			answers: []success{ok(operationAnswer{})}, errors: append([]string{"operation_state", "not_cancellable", "namespace_purging"}, operationErrors...),
		},
		{
			method: post, path: "/v1/operations/{id}/retry", id: "retryOperation", serve: changeOperation(Service.RetryOperation),
			summary: "Run again what failed of a failed operation: its partitions, or its completion.",
			query:   []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true,
			answers: []success{ok(operationAnswer{})},
			errors:  append([]string{"operation_state", "operation_conflict", "namespace_inactive", "namespace_purging", CodeVersionNotFound}, operationErrors...),
		},
		{
			method: get, path: "/v1/operations/{id}/partitions", id: "listPartitions", serve: (*handler).listPartitions,
			summary: "List the tasks of its partitions, in order; those not made yet are left out.",
			query: []param{
				namespaceParam, {name: "status", values: []string{"CREATED", "RUNNING", "SUCCESS", "FAILURE"}}, limit, cursor,
			},
			answers: []success{ok(ListReply{})}, errors: operationErrors,
		},
	}
}
