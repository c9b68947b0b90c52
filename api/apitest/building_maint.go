package apitest

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (f *Fake) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
