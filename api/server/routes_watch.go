package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/schemas"
)

// watchRoutes are the routes that wait for changes of many tasks (SPEC W2, W3).
func watchRoutes() []route {
	return []route{
		{
			method: http.MethodPost, path: "/v1/tasks:wait", id: "waitTasks", needs: in(auth.SeeTasks), spaceInBody: true, serve: (*handler).waitTasks,
			summary: "Wait for any or all of many tasks.",
			query:   []param{namespaceParam, staleParam, minIndexParam}, body: asJSON(api.WaitRequest{}),
			answers: []success{ok(api.WaitReply{})}, errors: taskErrors,
		},
		{
			method: http.MethodGet, path: "/v1/events", id: "events", needs: in(auth.SeeTasks), serve: (*handler).events,
			summary: "Follow changes as Server-Sent Events: task, progress, removed, reset.",
			query: []param{
				namespaceParam,
				{name: "behavior", doc: "The behavior's name."},
				{name: "id", doc: "Only these tasks.", repeat: true},
				{name: "parent", doc: "ID of the operation that they belong to, or of the task that submitted them."},
				{name: "status", doc: "After the change; of a removed record: before.", values: schemas.Words("TaskStatus")},
			},
			header: []param{{name: codec.LastEventID, kind: numberParam, doc: "Go on after the event with this id; 0: begin with reset and the present state."}},
			answers: []success{{http.StatusOK, "The stream.", []media{{name: codec.EventMedia, doc: "" +
				"event: task, data {\"task\":Task}; progress, {\"namespace\",\"id\",\"attempt\",\"progress\"}; removed, {\"namespace\",\"id\",\"rev\"}; " +
				"reset, {}: changes were missed, the present states follow as task events. id is the rev to go on from. " +
				"A comment comes every 15 s.",
				events: map[string]any{
					api.EventTask: api.TaskEvent{}, api.EventProgress: api.ProgressEvent{}, api.EventRemoved: api.RemovedEvent{}, api.EventReset: struct{}{},
				}}}}},
			errors: namespaceErrors,
		},
	}
}
