package apitest

// Temporary: methods of issue 3 that are being built; each goes away when its own file has it.

import (
	"context"

	"github.com/taskrt/taskrt/api"
)

func (f *Fake) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}

func (f *Fake) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	return nil, api.NewError(api.CodeInternal, "being built")
}
