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

func (n *Node) BehaviorStats(ctx context.Context, namespace, name string) (*api.BehaviorStats, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (n *Node) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
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

func (n *Node) Workers(ctx context.Context) ([]api.Worker, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
