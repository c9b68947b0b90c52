package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// getMaintenance is GET /v1/maintenance.
func (h *handler) getMaintenance(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return h.service.Maintenance(ctx) })
}

// startMaintenance is POST /v1/maintenance/runs.
func (h *handler) startMaintenance(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	var req api.MaintenanceRequest
	release, err := h.readObject(w, r, &req, true)
	if err != nil {
		return err
	}
	defer release()
	return h.replyAs(w, r, http.StatusAccepted, func(ctx context.Context) (any, error) { return h.service.StartMaintenance(ctx, req) })
}

// listMaintenanceRuns is GET /v1/maintenance/runs.
func (h *handler) listMaintenanceRuns(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	runs, err := h.service.MaintenanceRuns(ctx)
	if err != nil {
		return err
	}
	return answerList(w, meta, "runs", slices.Values(runs), nil)
}

// getMaintenanceRun is GET /v1/maintenance/runs/{run}.
func (h *handler) getMaintenanceRun(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	run, err := strconv.ParseInt(r.PathValue("run"), 10, 64)
	if err != nil {
		run = 0 // so that CheckRun refuses it, in its own words
	}
	if err := api.CheckRun(run); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		run, err := h.service.MaintenanceRun(ctx, run)
		return codec.MaintenanceRunAnswer{Run: run}, err
	})
}
