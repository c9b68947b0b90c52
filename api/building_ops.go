package api

import (
	"context"
)

// Stubs of what is being built.

func (c *Client) StartOperation(ctx context.Context, r StartOperationRequest) (*Operation, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Operation(ctx context.Context, namespace, id string, o OperationGet) (*Operation, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Operations(ctx context.Context, r OperationsRequest) (*OperationsReply, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) Partitions(ctx context.Context, r PartitionsRequest) (*ListReply, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) CancelOperation(ctx context.Context, namespace, id string) (*Operation, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) RetryOperation(ctx context.Context, namespace, id string) (*Operation, error) {
	return nil, NewError(CodeInternal, "being built")
}
func (c *Client) RemoveOperation(ctx context.Context, namespace, id string) error {
	return NewError(CodeInternal, "being built")
}
