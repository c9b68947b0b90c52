package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// storeRoutes are the routes of the TaskStore API (SPEC X2): the HTTP contract of github.com/shiblon/taskstore.
func storeRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	query := []param{namespaceParam}
	group := []param{
		namespaceParam,
		{name: "limit", kind: numberParam, doc: "No more than this many; 0, the default: no limit."},
		{name: "owned", doc: "Whether records are listed too that somebody owns now.", values: []string{"0", "1", "no", "yes", "false", "true"}},
	}
	groups := route{
		method: get, path: codec.StorePrefix + "groups", id: "storeGroups", needs: whole(access.Read), summary: "The names of the groups that are not empty.", serve: (*handler).storeGroups,
		query: query, answers: []success{ok([]string{})}, errors: namespaceErrors,
	}
	alias := groups
	alias.path, alias.id, alias.summary = codec.StorePrefix+"group", "storeGroupsAlias", "The same as /taskstore/groups: what the original client asks for."
	table := []route{
		groups, alias,
		{
			method: get, path: codec.StorePrefix + "group/{group}", id: "storeGroup", needs: whole(access.Read), serve: (*handler).storeGroup,
			summary: "The records of a group, by ID. Its name is the rest of the path, slashes included.",
			query:   group, answers: []success{ok([]api.StoreTask{})}, errors: namespaceErrors,
		},
		{
			method: get, path: codec.StorePrefix + "task/{id}", id: "storeTask", needs: whole(access.Read), summary: "A record.", serve: (*handler).storeTask,
			query: query, answers: []success{ok(api.StoreTask{})}, errors: taskErrors,
		},
		{
			method: get, path: codec.StorePrefix + "tasks/{ids}", id: "storeTasks", needs: whole(access.Read), serve: (*handler).storeTasks,
			summary: "Records by IDs with commas between them; null for one that is not there.",
			query:   query, answers: []success{ok([]*api.StoreTask{})}, errors: append([]string{api.CodeTooLarge}, namespaceErrors...),
		},
		{
			method: post, path: codec.StorePrefix + "update", id: "storeUpdate", needs: auth.StoreWrite, adds: true, serve: (*handler).storeUpdate,
			summary: "Add, change and delete records, all or nothing. What is missing or owned by somebody else is told with status 200.",
			query:   query, body: asJSON(codec.StoreUpdateBody{}), answers: []success{ok(codec.StoreTasksAnswer{}, codec.StoreErrorsAnswer{})},
			errors: workErrors,
		},
		{
			method: post, path: codec.StorePrefix + "claim", id: "storeClaim", needs: auth.StoreWrite, adds: true, serve: (*handler).storeClaim,
			summary: "Own a random available record of a group for some time; none if there is none.",
			query:   query, body: asJSON(codec.StoreClaimBody{}), answers: []success{ok(codec.StoreTasksAnswer{}, codec.StoreErrorsAnswer{})},
			errors: workErrors,
		},
	}
	for i := range table {
		table[i].problem = codec.StoreProblemFields{}
	}
	return table
}
