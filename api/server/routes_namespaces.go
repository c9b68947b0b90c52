package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// namespaceRoutes are the routes of namespaces (SPEC N1, M5).
func namespaceRoutes() []route {
	const get, post, patch = http.MethodGet, http.MethodPost, http.MethodPatch
	const one = "/v1/namespaces/{name}"
	empty := asJSON(struct{}{})
	status := func(action, summary, to string) route {
		return route{
			method: post, path: one + "/" + action, id: action + "Namespace", needs: whole(access.Admin), summary: summary, serve: setNamespaceStatus(to),
			body: empty, bodyOptional: true, answers: []success{ok(codec.NamespaceAnswer{})},
			errors: []string{"namespace_not_found", api.CodeNamespaceReserved, "namespace_purging"},
		}
	}
	return []route{
		{
			method: get, path: "/v1/namespaces", id: "listNamespaces", needs: anyToken, summary: "List the namespaces by name.", serve: (*handler).listNamespaces,
			answers: []success{ok(codec.NamespacesAnswer{})},
		},
		{
			method: post, path: "/v1/namespaces", id: "createNamespace", needs: somewhere(access.Admin), summary: "Create a namespace.", serve: (*handler).createNamespace,
			body: asJSON(api.NamespaceSettings{}), answers: []success{{http.StatusCreated, "It was created.", asJSON(codec.NamespaceAnswer{})}},
			errors: []string{"namespace_exists", api.CodeNamespaceReserved, "namespace_purging", api.CodeQuotaExceeded},
		},
		{
			method: get, path: one, id: "getNamespace", needs: in(access.All), summary: "Get a namespace with what it holds.", serve: (*handler).getNamespace,
			answers: []success{ok(codec.NamespaceAnswer{})}, errors: namespaceErrors,
		},
		{
			method: patch, path: one, id: "updateNamespace", needs: whole(access.Admin), summary: "Change quotas, its share of slots or retention: each is replaced as a whole, what is absent stays.", serve: (*handler).updateNamespace,
			body: asJSON(api.NamespaceSettings{}), answers: []success{ok(codec.NamespaceAnswer{})},
			errors: []string{"namespace_not_found", api.CodeNamespaceReserved, "namespace_purging"},
		},
		status("activate", "Let tasks be submitted and started.", api.NamespaceActive),
		status("deactivate", "Take no new tasks and start none; running ones go on.", api.NamespaceInactive),
		status("purge", "Remove all that the namespace holds, in the background. There is no way back.", api.NamespacePurging),
		{
			method: get, path: one + "/export", id: "exportNamespace", needs: whole(access.Read), serve: (*handler).exportNamespace,
			summary: "All that is live in a namespace, in one state of the cluster, as JSON lines.",
			query:   []param{{name: "raw", kind: boolParam, doc: "Every stored record as it is, without the bytes of blobs."}},
			answers: []success{{http.StatusOK, "The lines. An export without its last line, end, is not whole.", []media{{name: codec.LinesMedia, doc: "JSON lines."}}}},
			errors:  namespaceErrors,
		},
		{
			method: post, path: one + "/import", id: "importNamespace", needs: whole(access.Admin), serve: (*handler).importNamespace,
			summary: "Take up the lines of an export. What exists already is left alone: it may be done again. Lines that are wrong are refused, the others taken up. An Idempotency-Key means nothing here.",
			query:   []param{{name: "rehash", kind: boolParam, doc: "Give tasks whose IDs follow from their params those of this namespace."}},
			body:    []media{{name: codec.LinesMedia, doc: "The lines of an export, of any length."}},
			answers: []success{ok(api.ImportReply{})},
			errors: []string{
				"namespace_not_found", "namespace_inactive", "namespace_purging", api.CodeNamespaceReserved, api.CodeQuotaExceeded, api.CodeBadArchive,
				"blob_gone", "other_kind", "reserved_id", "operation_conflict", "not_an_operation",
			},
		},
	}
}
