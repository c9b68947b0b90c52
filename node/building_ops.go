package node

import (
	"context"
	"github.com/taskrt/taskrt/api"
)

// Stubs of what is being built.

func (n *Node) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Operation(ctx context.Context, namespace, id string, o api.OperationGet) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
func (n *Node) RemoveOperation(ctx context.Context, namespace, id string) error {
	return api.NewError(api.CodeInternal, "being built")
}
