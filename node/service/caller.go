package service

import (
	"context"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
)

// Caller says who makes a call, as the log names it (SPEC A4). It is nobody in a cluster that is open, and for the node itself. It says from
// where and by which route if the call is recorded (SPEC A8).
func Caller(ctx context.Context) (c task.Caller) {
	if p := auth.PrincipalOf(ctx); p != nil {
		c.Token = p.Number
	}
	if x := auth.TrailOf(ctx); x.Recorded() {
		c.From, c.Route = x.From, x.Route
	}
	return c
}
