package client

import (
	"context"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// StartMaintenance implements Service. The request may be sent again, unless it supersedes a run: then the run that it names is
// no longer the unfinished one, and the second request would be refused.
func (c *Client) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var started api.MaintenanceStarted
	if _, err := c.post(ctx, "/v1/maintenance/runs", nil, r, &started, false); err != nil {
		return nil, err
	}
	return &started, nil
}

// MaintenanceRuns implements Service.
func (c *Client) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	var answer codec.MaintenanceRunsAnswer
	err := c.read(ctx, "/v1/maintenance/runs", nil, &answer)
	return answer.Runs, err
}

// MaintenanceRun implements Service.
func (c *Client) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	if err := api.CheckRun(run); err != nil {
		return nil, err
	}
	var answer codec.MaintenanceRunAnswer
	err := c.read(ctx, "/v1/maintenance/runs/"+strconv.FormatInt(run, 10), nil, &answer)
	return answer.Run, err
}

// Maintenance implements Service.
func (c *Client) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	var info api.MaintenanceInfo
	if err := c.read(ctx, "/v1/maintenance", nil, &info); err != nil {
		return nil, err
	}
	return &info, nil
}
