package apitest

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (f *Fake) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Operation(ctx context.Context, namespace, id string, o api.OperationGet) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (f *Fake) RemoveOperation(ctx context.Context, namespace, id string) error {
	return api.NewError(api.CodeInternal, "being built")
}
