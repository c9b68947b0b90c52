package api

import (
	"net/http"
	"slices"
)

// uploadErrors are the codes of a module that is refused (SPEC B2).
var uploadErrors = func() []string {
	var all []string
	first := slices.IndexFunc(codes, func(c codeEntry) bool { return c.code == "bad_manifest" })
	for _, c := range codes[first:] {
		if c.status == http.StatusUnprocessableEntity {
			all = append(all, c.code)
		}
	}
	return all
}()

// behaviorRoutes are those of modules and behaviors (SPEC H1).
func behaviorRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{
			method: get, path: "/v1/modules", id: "listModules", summary: "List modules.", serve: (*handler).listModules,
			query: []param{namespaceParam}, answers: []success{ok(modulesAnswer{})}, errors: namespaceErrors,
		},
		{
			method: post, path: "/v1/modules", id: "pushModule", summary: "Upload a module and activate its behaviors, or change nothing.", serve: (*handler).push,
			query: []param{
				namespaceParam,
				{name: "name", doc: "Name of the behavior of a module without a manifest."},
				{name: "manifest", doc: "JSON; wins over the module's own."},
			},
			body: []media{
				{name: "application/wasm", doc: "The module."},
				{name: "multipart/form-data", doc: "Parts: module (the file), name, manifest."},
			},
			answers: []success{ok(moduleAnswer{})}, errors: slices.Concat(namespaceErrors, uploadErrors, []string{"other_kind", "namespace_inactive"}),
		},
		{
			method: get, path: "/v1/modules/{digest}", id: "getModule", summary: "Get a module's description.", serve: (*handler).getModule,
			query: []param{namespaceParam}, answers: []success{ok(moduleAnswer{})}, errors: append([]string{CodeModuleNotFound}, namespaceErrors...),
		},
		{
			method: get, path: "/v1/behaviors", id: "listBehaviors", summary: "List behaviors by name.", serve: (*handler).listBehaviors,
			query: []param{namespaceParam}, answers: []success{ok(behaviorsAnswer{})}, errors: namespaceErrors,
		},
		{
			method: get, path: "/v1/behaviors/{name}", id: "getBehavior", summary: "Get a behavior with its policy and kept versions.", serve: (*handler).getBehavior,
			query: []param{namespaceParam}, answers: []success{ok(behaviorAnswer{})}, errors: behaviorErrors,
		},
	}
}
