package apitest

// Temporary: methods of issue 3 that are being built; each goes away when its own file has it.

import (
	"context"

	"github.com/taskrt/taskrt/api"
)

func (f *Fake) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Txn(ctx context.Context, r api.TxnRequest) (*api.TxnReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) PutBehavior(ctx context.Context, r api.PutBehaviorRequest) (*api.PutBehaviorReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	return api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) ActivateVersion(ctx context.Context, namespace, name, version string) (*api.BehaviorDetail, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*api.BehaviorDetail, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) BehaviorStats(ctx context.Context, namespace, name string) (*api.BehaviorStats, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Workers(ctx context.Context) ([]api.Worker, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Drain(ctx context.Context, node string, drain bool) (*api.Node, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
