package api

import "net/http"

// storePrefix is below what the TaskStore API is served.
const storePrefix = "/taskstore/"

// storeRoutes are the TaskStore API (SPEC X2): the HTTP contract of github.com/shiblon/taskstore.
func storeRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	query := []param{namespaceParam}
	group := []param{
		namespaceParam,
		{name: "limit", kind: numberParam, doc: "No more than this many; 0, the default: no limit."},
		{name: "owned", doc: "Whether records are listed too that somebody owns now.", values: []string{"0", "1", "no", "yes", "false", "true"}},
	}
	groups := route{
		method: get, path: storePrefix + "groups", id: "storeGroups", summary: "The names of the groups that are not empty.", serve: (*handler).storeGroups,
		query: query, answers: []success{ok([]string{})}, errors: namespaceErrors,
	}
	alias := groups
	alias.path, alias.id, alias.summary = storePrefix+"group", "storeGroupsAlias", "The same as /taskstore/groups: what the original client asks for."
	table := []route{
		groups, alias,
		{
			method: get, path: storePrefix + "group/{group}", id: "storeGroup", serve: (*handler).storeGroup,
			summary: "The records of a group, by ID. Its name is the rest of the path, slashes included.",
			query:   group, answers: []success{ok([]StoreTask{})}, errors: namespaceErrors,
		},
		{
			method: get, path: storePrefix + "task/{id}", id: "storeTask", summary: "A record.", serve: (*handler).storeTask,
			query: query, answers: []success{ok(StoreTask{})}, errors: taskErrors,
		},
		{
			method: get, path: storePrefix + "tasks/{ids}", id: "storeTasks", serve: (*handler).storeTasks,
			summary: "Records by IDs with commas between them; null for one that is not there.",
			query:   query, answers: []success{ok([]*StoreTask{})}, errors: append([]string{CodeTooLarge}, namespaceErrors...),
		},
		{
			method: post, path: storePrefix + "update", id: "storeUpdate", adds: true, serve: (*handler).storeUpdate,
			summary: "Add, change and delete records, all or nothing. What is missing or owned by somebody else is told with status 200.",
			query:   query, body: asJSON(storeUpdateBody{}), answers: []success{ok(storeTasksAnswer{}, storeErrorsAnswer{})},
			errors: append([]string{CodeCrossOrigin}, workErrors...),
		},
		{
			method: post, path: storePrefix + "claim", id: "storeClaim", adds: true, serve: (*handler).storeClaim,
			summary: "Own a random available record of a group for some time; none if there is none.",
			query:   query, body: asJSON(storeClaimBody{}), answers: []success{ok(storeTasksAnswer{}, storeErrorsAnswer{})},
			errors: append([]string{CodeCrossOrigin}, workErrors...),
		},
	}
	for i := range table {
		table[i].problem = storeProblemFields{}
	}
	return table
}
