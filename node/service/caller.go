package service

import (
	"context"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
)

// Caller says who makes a call, as the log names it (SPEC A4). It is nobody in a cluster that is open, and for the node itself.
func Caller(ctx context.Context) task.Caller {
	if p := auth.PrincipalOf(ctx); p != nil {
		return task.Caller{Token: p.Number}
	}
	return task.Caller{}
}
