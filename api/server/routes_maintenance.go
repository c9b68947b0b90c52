package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// maintenanceRoutes are the routes of maintenance (SPEC M1, M4).
func maintenanceRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{
			method: get, path: "/v1/maintenance", id: "getMaintenance", serve: (*handler).getMaintenance,
			summary: "How maintenance is set up on this node, and what it does now.", answers: []success{ok(api.MaintenanceInfo{})},
		},
		{
			method: post, path: "/v1/maintenance/runs", id: "startMaintenance", serve: (*handler).startMaintenance,
			summary: "Ask for a run now. While one is unfinished it is refused, unless it is to be superseded.",
			body:    asJSON(api.MaintenanceRequest{}), bodyOptional: true,
			answers: []success{{http.StatusAccepted, "It begins as soon as a worker has a slot.", asJSON(api.MaintenanceStarted{})}},
			errors:  []string{"maintenance_running", api.CodeRunNotFound},
		},
		{
			method: get, path: "/v1/maintenance/runs", id: "listMaintenanceRuns", serve: (*handler).listMaintenanceRuns,
			summary: "The runs that are remembered, the newest first.", answers: []success{ok(codec.MaintenanceRunsAnswer{})},
		},
		{
			method: get, path: "/v1/maintenance/runs/{run}", id: "getMaintenanceRun", serve: (*handler).getMaintenanceRun,
			summary: "One run.", answers: []success{ok(codec.MaintenanceRunAnswer{})}, errors: []string{api.CodeRunNotFound},
		},
	}
}
