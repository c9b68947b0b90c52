package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// These are codes that many routes have together.
var (
	namespaceErrors = []string{"namespace_not_found"}
	taskErrors      = []string{"namespace_not_found", api.CodeTaskNotFound}
	behaviorErrors  = []string{"namespace_not_found", api.CodeBehaviorNotFound}
	writeErrors     = []string{"namespace_not_found", "namespace_purging"} // of routes that a purge stops
	workErrors      = append([]string{"namespace_inactive", api.CodeNamespaceReserved, api.CodeQuotaExceeded}, writeErrors...)
	submitErrors    = append([]string{
		api.CodeBehaviorNotFound, "already_exists", "other_behavior", "cancelling",
		"behavior_changed", "reserved_id", "operation_task", api.CodeInvalidParams, api.CodeParamsSchema, api.CodeBlobGone, api.CodeStorageFull,
	}, workErrors...)
	changeErrors = []string{"namespace_purging", api.CodeNamespaceReserved} // of changes to a behavior's definition
)

// reportErrors are the codes of reports of external workers. A report for a task that is gone is answered halt, too (SPEC L3).
var reportErrors = []string{"namespace_not_found", api.CodeHalt, "not_external", api.CodeBlobGone, api.CodeStorageFull}

// finishErrors are the codes of reports with an outcome.
var finishErrors = append([]string{api.CodeResultSchema}, reportErrors...)

var preferParam = param{
	name: codec.PreferHeader,
	doc:  "return=minimal (RFC 7240): the answer has of a task only what names it and says where it is. Other preferences mean nothing.",
}

// listParams are the parameters of a list of tasks (SPEC Q1).
func listParams() []param {
	return []param{
		namespaceParam,
		{name: "status", values: api.ListStatuses(), doc: "Several: any of them. RETRYING is a FAILURE that waits for its next attempt, DEAD one that is final.", repeat: true},
		{name: "final", kind: boolParam, doc: "Whether they have an outcome and will not run again by themselves."},
		{name: "behavior", doc: "The behavior's name, in which * stands for any text; several: any of them.", repeat: true},
		{name: "error", doc: "The code of their error; several: any of them.", repeat: true},
		{name: "worker", doc: "The worker of the current attempt, or of the last."},
		{name: "node", doc: "The node of that worker."},
		{name: "parent", doc: "ID of the operation that they belong to, or of the task that submitted them."},
		{name: "label", doc: "name=value; several: all of them.", repeat: true},
		{name: "id_prefix", doc: "What their IDs begin with."},
		{name: "created_from", kind: timeParam, doc: "Created at this time or later."},
		{name: "created_to", kind: timeParam, doc: "Created before this time."},
		{name: "started_from", kind: timeParam, doc: "The last attempt began at this time or later. If this is the only range, the order is that of these times."},
		{name: "started_to", kind: timeParam, doc: "The last attempt began before this time."},
		{name: "finished_from", kind: timeParam, doc: "The last outcome is of this time or later. If this is the only range, the order is that of these times."},
		{name: "finished_to", kind: timeParam, doc: "The last outcome is of before this time."},
		{name: "due_before", kind: timeParam, doc: "Tasks due at or before it."},
		{name: "order", values: []string{"asc", "desc"}, doc: "desc: the last ones first. Default: asc."},
		{name: "count", kind: boolParam, doc: "Answer how many there are, too, up to 10000."},
		{name: "fields", doc: "Answer this field of each task; several: these.", repeat: true},
		{name: "limit", kind: numberParam, doc: "Tasks of a page: 1 to 1000, default 100."},
		{name: "cursor", doc: "Of the page before."},
		staleParam, minIndexParam,
	}
}

// taskRoutes are the routes of tasks (SPEC H1).
func taskRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return []route{
		{
			method: get, path: "/v1/tasks", id: "listTasks", needs: in(auth.SeeTasks), summary: "List tasks that are as asked for.", serve: (*handler).listTasks,
			query:   listParams(),
			answers: []success{ok(api.ListReply{})}, errors: namespaceErrors,
		},
		submitRoute(),
		{
			method: get, path: "/v1/tasks/{id}", id: "getTask", needs: in(auth.SeeTasks), summary: "Get a task, after waiting for a condition if asked.", serve: (*handler).getTask,
			query: []param{
				namespaceParam,
				{name: "wait", kind: durationParam, doc: "Answer when the condition holds, or after this time with the state of then; at most 5m."},
				{name: "until", doc: "final (default), running, waiting, success, failure, outcome (of a cycle: a success, or a failure that is not retried), rev:N or attempt:N. A final state ends every wait."},
				{name: "since", kind: numberParam, doc: "For success, failure and outcome: one at a rev above it; default: the current one."},
				staleParam, minIndexParam,
			},
			answers: []success{ok(codec.TaskAnswer{})}, errors: append([]string{api.CodeRemoved}, taskErrors...),
		},
		{
			method: del, path: "/v1/tasks/{id}", id: "removeTask", needs: in(auth.Steer), summary: "Delete the record; a running worker is told to halt.", serve: (*handler).removeTask,
			query: []param{namespaceParam}, answers: []success{noContent}, errors: append([]string{"operation_task", api.CodeNamespaceReserved}, taskErrors...),
		},
		{
			method: post, path: "/v1/tasks/{id}/cancel", id: "cancelTask", needs: in(auth.Steer), summary: "Ask that the task end as CANCELLED.", serve: (*handler).cancelTask,
			query: []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true,
			answers: []success{
				{http.StatusOK, "It is cancelled.", asJSON(api.CancelReply{})},
				{http.StatusAccepted, "It runs; its worker is being told.", asJSON(api.CancelReply{})},
			},
			errors: append([]string{"not_cancellable"}, taskErrors...),
		},
		{
			method: get, path: "/v1/tasks/{id}/logs", id: "taskLogs", needs: in(auth.SeeTasks), summary: "What the attempts logged, also those that run: about each second there is more.", serve: (*handler).taskLogs,
			query: []param{
				namespaceParam,
				{name: "from_token", kind: numberParam, doc: "The token of an attempt: those before it are left out."},
				{name: "from_offset", kind: numberParam, doc: "So many bytes of this attempt are left out: the end of what was answered before."},
			}, answers: []success{ok(api.LogsReply{})}, errors: taskErrors,
		},
		{
			method: post, path: "/v1/tasks/{id}/retry", id: "retryTask", needs: in(auth.Steer), serve: (*handler).retryTask,
			summary: "Make a final task, or one that waits for its retry, due again; with a version: run by that one.",
			query:   []param{namespaceParam}, body: asJSON(api.RetryRequest{}), bodyOptional: true,
			answers: []success{ok(codec.TaskAnswer{})}, errors: append([]string{"not_final", "cancelling", "operation_task", api.CodeVersionNotFound, "behavior_changed", "namespace_purging"}, taskErrors...),
		},
		{
			method: post, path: "/v1/tasks/{id}/resubmit", id: "resubmitTask", needs: in(auth.Steer), traced: true, serve: (*handler).resubmitTask,
			summary: "Ask for another run: at a time, or when the current one ends.",
			query:   []param{namespaceParam}, body: asJSON(api.ResubmitRequest{}), bodyOptional: true,
			answers: []success{ok(api.SubmitReply{})}, errors: append([]string{api.CodeTaskNotFound}, submitErrors...),
		},
		{
			method: post, path: "/v1/txn", id: "txn", needs: in(auth.Change), spaceInBody: true, traced: true, serve: (*handler).txn,
			summary: "Submit, update, finish and delete tasks, all or nothing, if what it depends on holds.",
			query:   []param{namespaceParam}, body: asJSON(api.TxnRequest{}),
			answers: []success{ok(api.TxnReply{})}, errors: append([]string{api.CodeConflict, api.CodeResultSchema}, submitErrors...),
		},
	}
}

func submitRoute() route {
	return route{
		method: http.MethodPost, path: "/v1/tasks", id: "submit", needs: in(access.Submit), spaceInBody: true, adds: true, traced: true, summary: "Submit one task, or many of which each has its own answer.", serve: (*handler).submit,
		query: []param{
			namespaceParam,
			{name: "wait", kind: durationParam, doc: "Of one task: answer when the cycle that it is in has an outcome, or after this time; at most 5m. Prefer means nothing then."},
		},
		header: []param{preferParam}, body: asJSON(api.SubmitRequest{}, codec.SubmitMany{}),
		answers: []success{
			{http.StatusCreated, "The task was created.", asJSON(api.SubmitReply{})},
			{http.StatusOK, "The task was there already; or the answers to many, in order.", asJSON(api.SubmitReply{}, codec.SubmitResults{})},
		},
		errors: append([]string{api.CodeRemoved}, submitErrors...),
	}
}

// reportRoutes are the routes by which external workers report on their attempts (SPEC J3, J4).
func reportRoutes() []route {
	const post = http.MethodPost
	return []route{
		{
			method: post, path: "/v1/tasks/{id}/heartbeat", id: "heartbeat", needs: in(access.Work), serve: (*handler).heartbeat,
			summary: "Keep an external lease; store progress and a checkpoint.",
			query:   []param{namespaceParam}, body: asJSON(api.HeartbeatRequest{}),
			answers: []success{ok(api.HeartbeatReply{})}, errors: reportErrors,
		},
		{
			method: post, path: "/v1/tasks/{id}/finish", id: "finishTask", needs: in(access.Work), serve: (*handler).finishTask,
			summary: "End an external attempt with an outcome. The same finish again is answered as repeated.",
			query:   []param{namespaceParam}, header: []param{preferParam}, body: asJSON(api.FinishRequest{}),
			answers: []success{ok(api.FinishReply{})}, errors: finishErrors,
		},
		{
			method: post, path: "/v1/tasks/{id}/snooze", id: "snoozeTask", needs: in(access.Work), serve: (*handler).snoozeTask,
			summary: "End an external attempt without an outcome: due again at a time.",
			query:   []param{namespaceParam}, body: asJSON(api.SnoozeRequest{}),
			answers: []success{ok(codec.TaskAnswer{})}, errors: reportErrors,
		},
		{
			method: post, path: "/v1/tasks:finish", id: "finishMany", needs: in(access.Work), spaceInBody: true, serve: (*handler).finishMany,
			summary: "Finish many external attempts; each has its own answer.",
			query:   []param{namespaceParam}, header: []param{preferParam}, body: asJSON(codec.Reports{}),
			answers: []success{ok(codec.FinishResults{})}, errors: finishErrors,
		},
	}
}
