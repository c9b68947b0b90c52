package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Heartbeat implements Service.
func (c *Client) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer api.HeartbeatReply
	if _, err := c.post(ctx, taskURL(r.ID)+"/heartbeat", inNamespace(r.Namespace), r, &answer, true); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Finish implements Service. The request may be sent again: the same finish is answered as repeated (SPEC L3).
func (c *Client) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer api.FinishReply
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: taskURL(r.ID) + "/finish", query: inNamespace(r.Namespace), contentType: codec.JSONMedia,
		body: codec.Encode(r), resend: true, minimal: r.Minimal,
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// FinishMany implements Service. Reports that do not fit into one body go in several bodies.
func (c *Client) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	if err := api.CheckReports(rs); err != nil {
		return nil, err
	}
	results := make([]api.FinishResult, len(rs))
	var body codec.Reports
	var positions []int
	size, bodies := 0, 0
	send := func() error {
		if len(positions) == 0 {
			return nil
		}
		bodies++
		err := c.sendReports(ctx, body, positions, results, partOf(bodies))
		body.Reports, positions, size = nil, nil, 0
		return err
	}
	seen := map[[2]string]int{}
	for i, f := range rs {
		if results[i].Error = api.CheckReport(&f, i, seen); results[i].Error != nil {
			continue
		}
		body.Reports, positions = append(body.Reports, f), append(positions, i)
		if size += len(codec.Encode(f)) + 1; size > c.config.BatchBytes {
			if err := send(); err != nil {
				return nil, err
			}
		}
	}
	if err := send(); err != nil {
		return nil, err
	}
	return results, nil
}

func (c *Client) sendReports(ctx context.Context, body codec.Reports, positions []int, results []api.FinishResult, part string) error {
	var answer codec.FinishResults
	whole := slices.ContainsFunc(body.Reports, func(r api.FinishRequest) bool { return !r.Minimal })
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/tasks:finish", contentType: codec.JSONMedia, body: codec.Encode(body), resend: true, part: part, wait: slowWait,
		minimal: !whole,
	}, &answer)
	if err != nil {
		return err
	}
	if len(answer.Results) != len(positions) {
		return api.NewError(api.CodeInternal, "%d answers to %d reports", len(answer.Results), len(positions))
	}
	for i, at := range positions {
		results[at] = answer.Results[i]
	}
	return nil
}

// Snooze implements Service.
func (c *Client) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer codec.TaskAnswer
	_, err := c.post(ctx, taskURL(r.ID)+"/snooze", inNamespace(r.Namespace), r, &answer, true)
	return answer.Task, err
}

// Accept implements Service. A wait may be of any length: the client asks for it in slices, each from whichever node answers.
// All slices have one request_id. So if an answer is lost, its tasks are handed out again, and need not wait until their leases
// end.
func (c *Client) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	wait := time.Duration(0)
	if r.Wait != nil {
		wait = time.Duration(*r.Wait)
	}
	if wait < 0 {
		return nil, r.Check()
	}
	if r.RequestID == "" {
		r.RequestID = codec.RequestID(idempotencyKey(ctx))
	}
	if r.RequestID == "" {
		r.RequestID = rand.Text()
	}
	end := time.Now().Add(wait)
	for patient := false; ; patient = true {
		slice := api.Duration(max(min(time.Until(end), pollSlice), 0))
		r.Wait = &slice
		if err := r.Check(); err != nil {
			return nil, err
		}
		var answer api.AcceptReply
		_, err := c.do(ctx, call{
			method: http.MethodPost, path: behaviorURL(r.Behavior) + "/accept", query: inNamespace(r.Namespace), contentType: codec.JSONMedia,
			body: codec.Encode(r), wait: time.Duration(slice), resend: true, patient: patient,
		}, &answer)
		if err != nil {
			return nil, err
		}
		if len(answer.Tasks) > 0 || time.Until(end) <= 0 {
			return &answer, nil
		}
	}
}
