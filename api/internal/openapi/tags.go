package openapi

import "strings"

// tags are the areas of the API.
var tags = []Tag{
	{"tasks", "Submit tasks, look at them, wait for them, and steer them."},
	{"operations", "One task for each partition, then a completion, and one outcome."},
	{"behaviors", "What tasks run: modules, behaviors and their versions."},
	{"external", "Programs that accept tasks over HTTP, and report on them."},
	{"blobs", "Files that tasks refer to."},
	{"namespaces", "Namespaces with their quotas, export and import."},
	{"access", "Tokens, sign-in, and the record of who changed what."},
	{"cluster", "Members, workers, and the health of a node."},
	{"maintenance", "Runs that remove what nobody needs, and backups."},
	{"taskstore", "The HTTP contract of github.com/shiblon/taskstore."},
}

// areas says to which area the paths belong that begin in a certain way. The first line that fits a path holds.
var areas = []struct{ prefix, suffix, tag string }{
	{"/v1/behaviors/", "/accept", "external"},
	{"/v1/tasks/", "/heartbeat", "external"}, {"/v1/tasks/", "/finish", "external"}, {"/v1/tasks/", "/snooze", "external"}, {"/v1/tasks:finish", "", "external"},
	{"/v1/tasks", "", "tasks"}, {"/v1/txn", "", "tasks"}, {"/v1/events", "", "tasks"}, {"/v1/failures", "", "tasks"}, {"/v1/jobs", "", "tasks"},
	{"/v1/operations", "", "operations"},
	{"/v1/modules", "", "behaviors"}, {"/v1/behaviors", "", "behaviors"},
	{"/v1/blobs", "", "blobs"},
	{"/v1/namespaces", "", "namespaces"},
	{"/v1/tokens", "", "access"}, {"/v1/audit", "", "access"}, {"/v1/self", "", "access"}, {"/v1/sign-in", "", "access"}, {"/v1/issuers", "", "access"},
	{"/v1/maintenance", "", "maintenance"}, {"/v1/snapshot", "", "maintenance"},
	{"/v1/stream", "", "tasks"}, {"/v1/cluster", "", "cluster"}, {"/v1/workers", "", "cluster"}, {"/healthz", "", "cluster"}, {"/readyz", "", "cluster"},
	{"/metrics", "", "cluster"}, {"/openapi.json", "", "cluster"},
	{"/taskstore/", "", "taskstore"},
}

// tagOf returns the area of a path, "" if no line knows it.
func tagOf(path string) string {
	for _, a := range areas {
		if strings.HasPrefix(path, a.prefix) && strings.HasSuffix(path, a.suffix) {
			return a.tag
		}
	}
	return ""
}
