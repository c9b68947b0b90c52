package api

import "net/http"

// clusterRoutes are those of the cluster and of this node (SPEC H1).
func clusterRoutes() []route {
	const get = http.MethodGet
	return []route{
		{
			method: get, path: "/v1/cluster", id: "getCluster", summary: "Members, workers and totals.", serve: (*handler).cluster,
			answers: []success{ok(Cluster{})},
		},
		{
			method: get, path: "/healthz", id: "healthz", summary: "The process answers.", serve: (*handler).healthz,
			answers: []success{ok(health{})},
		},
		{
			method: get, path: "/readyz", id: "readyz", summary: "A leader is known, this node is caught up, its disk works.", serve: (*handler).readyz,
			answers: []success{ok(health{})},
		},
	}
}
