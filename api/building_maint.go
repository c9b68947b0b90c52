package api

import (
	"context"
)

// Stubs of what is being built.

func (c *Client) StartMaintenance(ctx context.Context, r MaintenanceRequest) (*MaintenanceStarted, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) MaintenanceRuns(ctx context.Context) ([]MaintenanceRun, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) MaintenanceRun(ctx context.Context, run int64) (*MaintenanceRun, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Maintenance(ctx context.Context) (*MaintenanceInfo, error) {
	return nil, NewError(CodeInternal, "being built")
}
