package api

import "net/http"

// watchRoutes are those that wait for changes of many tasks (SPEC W2, W3).
func watchRoutes() []route {
	return []route{
		{
			method: http.MethodPost, path: "/v1/tasks:wait", id: "waitTasks", serve: (*handler).waitTasks,
			summary: "Wait for any or all of many tasks.",
			query:   []param{namespaceParam, staleParam, minIndexParam}, body: asJSON(WaitRequest{}),
			answers: []success{ok(WaitReply{})}, errors: taskErrors,
		},
		{
			method: http.MethodGet, path: "/v1/events", id: "events", serve: (*handler).events,
			summary: "Follow changes as Server-Sent Events: task, progress, removed, reset.",
			query: []param{
				namespaceParam,
				{name: "behavior", doc: "The behavior's name."},
				{name: "id", doc: "Only these tasks.", repeat: true},
				{name: "parent", doc: "ID of the operation that they belong to, or of the task that submitted them."},
				{name: "status", doc: "After the change; of a removed record: before.", values: []string{"CREATED", "RUNNING", "SUCCESS", "FAILURE"}},
			},
			header: []param{{name: lastEventID, kind: numberParam, doc: "Go on after the event with this id; 0: begin with reset and the present state."}},
			answers: []success{{http.StatusOK, "The stream.", []media{{name: eventMedia, doc: "" +
				"event: task, data {\"task\":Task}; progress, {\"namespace\",\"id\",\"attempt\",\"progress\"}; removed, {\"namespace\",\"id\",\"rev\"}; " +
				"reset, {}: changes were missed, the present states follow as task events. id is the rev to go on from. " +
				"A comment comes every 15 s."}}}},
			errors: namespaceErrors,
		},
	}
}
