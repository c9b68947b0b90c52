package server

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/task/access"
)

// maintenanceRoutes are the routes of maintenance (SPEC M1, M4).
func maintenanceRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{
			method: get, path: "/v1/maintenance", id: "getMaintenance", needs: everywhere(access.Read), serve: (*handler).getMaintenance,
			summary: "How maintenance is set up on this node, and what it does now.", answers: []success{ok(api.MaintenanceInfo{})},
		},
		{
			method: post, path: "/v1/maintenance/runs", id: "startMaintenance", needs: everywhere(access.Operate), serve: (*handler).startMaintenance,
			summary: "Ask for a run now. While one is unfinished it is refused, unless it is to be superseded.",
			body:    asJSON(api.MaintenanceRequest{}), bodyOptional: true,
			answers: []success{{http.StatusAccepted, "It begins as soon as a worker has a slot.", asJSON(api.MaintenanceStarted{})}},
			errors:  []string{"maintenance_running", api.CodeRunNotFound},
		},
		{
			method: get, path: "/v1/maintenance/runs", id: "listMaintenanceRuns", needs: everywhere(access.Read), serve: (*handler).listMaintenanceRuns,
			summary: "The runs that are remembered, the newest first.", answers: []success{ok(codec.MaintenanceRunsAnswer{})},
		},
		{
			method: get, path: "/v1/maintenance/runs/{run}", id: "getMaintenanceRun", needs: everywhere(access.Read), serve: (*handler).getMaintenanceRun,
			summary: "One run.", answers: []success{ok(codec.MaintenanceRunAnswer{})}, errors: []string{api.CodeRunNotFound},
		},
	}
}
