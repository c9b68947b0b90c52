package node

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (n *Node) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
