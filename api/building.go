package api

// Temporary: methods of issue 3 that are being built; each goes away when its own file has it.

import (
	"context"
)

func (c *Client) Retry(ctx context.Context, r RetryRequest) (*Task, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Resubmit(ctx context.Context, r ResubmitRequest) (*SubmitReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) WaitTasks(ctx context.Context, r WaitRequest) (*WaitReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Txn(ctx context.Context, r TxnRequest) (*TxnReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Events(ctx context.Context, r EventsRequest) (EventStream, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) PutBehavior(ctx context.Context, r PutBehaviorRequest) (*PutBehaviorReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	return NewError(CodeInternal, "being built")
}

func (c *Client) ActivateVersion(ctx context.Context, namespace, name, version string) (*BehaviorDetail, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*BehaviorDetail, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) BehaviorStats(ctx context.Context, namespace, name string) (*BehaviorStats, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Accept(ctx context.Context, r AcceptRequest) (*AcceptReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Heartbeat(ctx context.Context, r HeartbeatRequest) (*HeartbeatReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Finish(ctx context.Context, r FinishRequest) (*FinishReply, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) FinishMany(ctx context.Context, rs []FinishRequest) ([]FinishResult, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Snooze(ctx context.Context, r SnoozeRequest) (*Task, error) {
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

func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	return nil, NewError(CodeInternal, "being built")
}

func (c *Client) Drain(ctx context.Context, node string, drain bool) (*Node, error) {
	return nil, NewError(CodeInternal, "being built")
}
