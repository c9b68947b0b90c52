package api

// Temporary: methods of issue 3 that are being built; each goes away when its own file has it.

import (
	"context"
)

func (c *Client) WaitTasks(ctx context.Context, r WaitRequest) (*WaitReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Events(ctx context.Context, r EventsRequest) (EventStream, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) StoreGroups(ctx context.Context, namespace string) ([]string, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) StoreTasks(ctx context.Context, namespace string, ids []uint64) ([]*StoreTask, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) ([]*StoreTask, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) StoreUpdate(ctx context.Context, r StoreUpdateRequest) (*StoreReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) StoreClaim(ctx context.Context, r StoreClaimRequest) (*StoreReply, error) {
	return nil, NewError(CodeInternal, "being built")
}
