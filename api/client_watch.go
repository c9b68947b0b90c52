package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// WaitTasks implements Service.
func (c *Client) WaitTasks(ctx context.Context, r WaitRequest) (*WaitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := url.Values{}
	setReading(q, r.Stale, r.MinIndex)
	var answer WaitReply
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/tasks:wait", query: q, contentType: "application/json", body: encode(r),
		wait: time.Duration(*r.Timeout), resend: true,
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}
