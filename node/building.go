package node

// Temporary: methods of issue 3 that are being built; each goes away when its own file has it.

import (
	"context"

	"github.com/taskrt/taskrt/api"
)

func (n *Node) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) StoreGroups(ctx context.Context, namespace string) ([]string, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) StoreTasks(ctx context.Context, namespace string, ids []uint64) ([]*api.StoreTask, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) ([]*api.StoreTask, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) StoreUpdate(ctx context.Context, r api.StoreUpdateRequest) (*api.StoreReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) StoreClaim(ctx context.Context, r api.StoreClaimRequest) (*api.StoreReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
