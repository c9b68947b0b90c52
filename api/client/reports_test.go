package client_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

// TestClientAcceptsInSlices: a long wait goes in slices, all with one request_id.
func TestClientAcceptsInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &acceptor{}
		c, err := client.New(client.Config{URLs: []string{"http://localhost"}, Transport: direct{server.New(a, server.Config{Logger: slog.New(slog.DiscardHandler)})}})
		if err != nil {
			t.Fatal(err)
		}
		wait := api.Duration(time.Minute)
		reply, err := c.Accept(t.Context(), api.AcceptRequest{Behavior: "apitest.ext", Worker: "w", Wait: &wait})
		if err != nil || len(reply.Tasks) != 1 {
			t.Fatalf("%+v, %v", reply, err)
		}
		if len(a.requests) != 3 || a.requests[0].RequestID == "" || a.requests[0].RequestID != a.requests[2].RequestID || time.Duration(*a.requests[0].Wait) > 30*time.Second {
			t.Errorf("requests %+v", a.requests)
		}
	})
}

// acceptor is a Service that hands out a task at the third accept.
type acceptor struct {
	api.Service
	requests []api.AcceptRequest
}

func (a *acceptor) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	a.requests = append(a.requests, r)
	if len(a.requests) < 3 {
		<-time.After(time.Duration(*r.Wait))
		return &api.AcceptReply{}, nil
	}
	return &api.AcceptReply{Tasks: []*api.Task{{ID: "abc", CreatedAt: api.TimeOf(1)}}}, nil
}
