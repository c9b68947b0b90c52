package apitest_test

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/snapshot"
)

// saves is a Snapshots that saves a short text.
type saves struct{}

func (saves) Save(_ context.Context, r snapshot.SaveRequest) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("a backup")), r.Check()
}

func (saves) Holds(context.Context) (*snapshot.HoldsReply, error) {
	return &snapshot.HoldsReply{Holds: []snapshot.Hold{{ID: "a1", Holder: "n1", TTL: api.Duration(time.Minute), Left: api.Duration(time.Second)}}}, nil
}

func (saves) Begin(context.Context) (*snapshot.BeginReply, error) {
	return &snapshot.BeginReply{Attempt: 7}, nil
}
