package server

import (
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// uploadErrors are the codes of a module that is refused (SPEC B2).
var uploadErrors = func() []string {
	var all []string
	codes := api.Codes()
	first := slices.IndexFunc(codes, func(c api.CodeEntry) bool { return c.Code == "bad_manifest" })
	for _, c := range codes[first:] {
		if c.Status == http.StatusUnprocessableEntity {
			all = append(all, c.Code)
		}
	}
	return all
}()

// moduleRoutes are the routes of modules (SPEC H1).
func moduleRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{
			method: get, path: "/v1/modules", id: "listModules", needs: in(auth.SeeBehaviors), summary: "List modules.", serve: (*handler).listModules,
			query: []param{namespaceParam}, answers: []success{ok(codec.ModulesAnswer{})}, errors: namespaceErrors,
		},
		{
			method: post, path: "/v1/modules", id: "pushModule", needs: in(access.Deploy), summary: "Upload a module and activate its behaviors, or change nothing.", serve: (*handler).push,
			query: []param{
				namespaceParam,
				{name: "name", doc: "Name of the behavior of a module without a manifest."},
				{name: "manifest", doc: "JSON; wins over the module's own."},
			},
			body: []media{
				{name: "application/wasm", doc: "The module."},
				{name: "multipart/form-data", doc: "Parts: module (the file), name, manifest."},
			},
			answers: []success{ok(codec.ModuleAnswer{})}, errors: slices.Concat(namespaceErrors, uploadErrors, changeErrors, []string{"other_kind"}),
		},
		{
			method: get, path: "/v1/modules/{digest}", id: "getModule", needs: in(auth.SeeBehaviors), summary: "Get a module's description.", serve: (*handler).getModule,
			query: []param{namespaceParam}, answers: []success{ok(codec.ModuleAnswer{})}, errors: append([]string{api.CodeModuleNotFound}, namespaceErrors...),
		},
	}
}

// behaviorRoutes are the routes of behaviors (SPEC H1).
func behaviorRoutes() []route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []route{
		{
			method: get, path: "/v1/behaviors", id: "listBehaviors", needs: in(auth.SeeBehaviors), summary: "List behaviors by name.", serve: (*handler).listBehaviors,
			query: []param{namespaceParam}, answers: []success{ok(codec.BehaviorsAnswer{})}, errors: namespaceErrors,
		},
		{
			method: get, path: "/v1/behaviors/{name}", id: "getBehavior", needs: of(auth.SeeBehaviors), summary: "Get a behavior with its policy and kept versions.", serve: (*handler).getBehavior,
			query: []param{namespaceParam}, answers: []success{ok(codec.BehaviorAnswer{})}, errors: behaviorErrors,
		},
		{
			method: put, path: "/v1/behaviors/{name}", id: "putBehavior", needs: of(access.Deploy), serve: (*handler).putBehavior,
			summary: "Define an external behavior, or change its policy: programs accept its tasks over HTTP.",
			query:   []param{namespaceParam}, body: asJSON(api.ExternalBehavior{}),
			answers: []success{ok(codec.BehaviorAnswer{}), {http.StatusCreated, "It is new.", asJSON(codec.BehaviorAnswer{})}},
			errors:  append([]string{"namespace_not_found", "other_kind", "bad_manifest"}, changeErrors...),
		},
		{
			method: del, path: "/v1/behaviors/{name}", id: "deleteBehavior", needs: of(access.Deploy), serve: (*handler).deleteBehavior,
			summary: "Take a behavior away: no new tasks, those that wait wait for one of that name.",
			query:   []param{namespaceParam, {name: "purge", kind: boolParam, doc: "Remove its tasks too, bit by bit."}},
			answers: []success{noContent}, errors: slices.Concat(behaviorErrors, changeErrors),
		},
		{
			method: get, path: "/v1/behaviors/{name}/versions", id: "listVersions", needs: of(auth.SeeBehaviors), summary: "The kept versions, newest first.", serve: (*handler).listVersions,
			query: []param{namespaceParam}, answers: []success{ok(codec.VersionsAnswer{})}, errors: behaviorErrors,
		},
		{
			method: post, path: "/v1/behaviors/{name}/activate", id: "activateVersion", needs: of(access.Deploy), summary: "Make a kept version the active one.", serve: (*handler).activateVersion,
			query: []param{namespaceParam}, body: asJSON(codec.ActivateBody{}),
			answers: []success{ok(codec.BehaviorAnswer{})}, errors: slices.Concat([]string{api.CodeVersionNotFound, "other_kind"}, behaviorErrors, changeErrors),
		},
		{
			method: post, path: "/v1/behaviors/{name}/pause", id: "pauseBehavior", needs: of(access.Operate), summary: "Start no more of its tasks; running ones go on.", serve: pauseBehavior(true),
			query: []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true, answers: []success{ok(codec.BehaviorAnswer{})}, errors: slices.Concat(behaviorErrors, []string{"namespace_purging"}),
		},
		{
			method: post, path: "/v1/behaviors/{name}/resume", id: "resumeBehavior", needs: of(access.Operate), summary: "Start its tasks again.", serve: pauseBehavior(false),
			query: []param{namespaceParam}, body: asJSON(struct{}{}), bodyOptional: true, answers: []success{ok(codec.BehaviorAnswer{})}, errors: slices.Concat(behaviorErrors, []string{"namespace_purging"}),
		},
		{
			method: get, path: "/v1/behaviors/{name}/stats", id: "behaviorStats", needs: of(auth.CountTasks), summary: "Count its tasks.", serve: (*handler).behaviorStats,
			query: []param{namespaceParam}, answers: []success{ok(api.BehaviorStats{})}, errors: behaviorErrors,
		},
		{
			method: post, path: "/v1/behaviors/{name}/accept", id: "accept", needs: of(access.Work), serve: (*handler).accept,
			summary: "Lease tasks of an external behavior, waiting for some if asked.",
			query:   []param{namespaceParam}, body: asJSON(api.AcceptRequest{}),
			answers: []success{ok(api.AcceptReply{})}, errors: append([]string{"not_external", "behavior_paused", "namespace_inactive", "namespace_purging"}, behaviorErrors...),
		},
	}
}
