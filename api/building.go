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
