package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// clusterRoutes are the routes of the cluster and of this node (SPEC H1).
func clusterRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{
			method: get, path: "/v1/cluster", id: "getCluster", needs: auth.Rule{Scope: auth.Members, Of: access.Read}, summary: "Members, workers and totals.", serve: (*handler).cluster,
			answers: []success{ok(api.Cluster{})},
		},
		{
			method: get, path: "/healthz", id: "healthz", needs: auth.Rule{Scope: auth.Open}, summary: "The process answers.", serve: (*handler).healthz,
			answers: []success{ok(codec.Health{})},
		},
		{
			method: get, path: "/readyz", id: "readyz", needs: auth.Rule{Scope: auth.Open}, summary: "A leader is known, this node is caught up, its disk works.", serve: (*handler).readyz,
			answers: []success{ok(codec.Health{})},
		},
		{
			method: get, path: "/metrics", id: "metrics", needs: everywhere(access.Read), summary: "What this node measures, for Prometheus.", serve: (*handler).metrics,
			answers: []success{{http.StatusOK, "Prometheus text format 0.0.4.", []media{{name: "text/plain", doc: "Metrics."}}}},
			errors:  []string{api.CodeNotFound},
		},
		{
			method: get, path: "/v1/cluster/members", id: "listMembers", needs: everywhere(access.Read), summary: "The members.", serve: (*handler).listMembers,
			answers: []success{ok(codec.MembersAnswer{})},
		},
		{
			method: post, path: "/v1/cluster/members/{id}/drain", id: "drain", needs: everywhere(access.Operate), serve: (*handler).drain,
			summary: "Give the workers of a node no more tasks, or give them tasks again; running ones go on.",
			body:    asJSON(codec.DrainBody{}), bodyOptional: true,
			answers: []success{ok(codec.NodeAnswer{})}, errors: []string{api.CodeMemberNotFound},
		},
		{
			method: get, path: "/v1/workers", id: "listWorkers", needs: everywhere(access.Read), serve: (*handler).listWorkers,
			summary: "The sessions of wasm workers, and the programs that hold external leases.",
			answers: []success{ok(codec.WorkersAnswer{})},
		},
		{
			method: get, path: "/openapi.json", id: "openapi", needs: anyToken, summary: "This document.", serve: (*handler).serveOpenAPI,
			answers: []success{{http.StatusOK, "An OpenAPI 3.1 document.", []media{{name: codec.JSONMedia, doc: "OpenAPI."}}}},
		},
	}
}
