package service

import (
	"bytes"
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/identity"
	"github.com/taskrt/taskrt/task"
)

// compareParams looks again at the params of a submit to a task that exists, if the state machine found that their
// bytes differ from the task's. They are the same params if they have the same canonical form (SPEC I2, I3). The answer
// depends on the request and the record alone, so every node gives the same. Params without a canonical form are
// compared by their bytes.
func (svc *Service) compareParams(ctx context.Context, r *task.Result, asked *api.SubmitRequest) {
	if r.Outcome != task.SubmitExistingOtherParams || r.Task == nil {
		return
	}
	brought, err := svc.canonicalOf(ctx, payloadOf(asked.Params, asked.ParamsBase64))
	if err != nil {
		return
	}
	if has, err := svc.canonicalOf(ctx, r.Task.Params); err == nil && bytes.Equal(brought, has) {
		r.Outcome = task.SubmitExisting
	}
}

// canonicalOf returns the canonical form of params, wherever their bytes are.
func (svc *Service) canonicalOf(ctx context.Context, p task.Payload) ([]byte, error) {
	room := svc.contents()
	defer room.release()
	var err error
	if p.Blobs != nil && p.Blobs.Content != "" {
		p, err = room.stored(ctx, "params", p)
	} else {
		p, err = room.whole(ctx, "params", p)
	}
	if err != nil {
		return nil, err
	}
	return identity.Canonical(p, nil)
}
