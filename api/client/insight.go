package client

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
)

// Insight explains over HTTP what does not go on (SPEC Q2, Q4). It is safe for concurrent use.
type Insight struct{ client *Client }

var _ insight.Insight = (*Insight)(nil)

// NewInsight asks through a Client, which the caller keeps open and closes.
func NewInsight(c *Client) *Insight { return &Insight{c} }

// Failures implements insight.Insight.
func (x *Insight) Failures(ctx context.Context, r insight.FailuresRequest) (*insight.FailuresReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := inNamespace(r.Namespace)
	q["behavior"], q["error"] = r.Behaviors, r.Errors
	setNumber(q, "limit", uint64(r.Limit))
	var answer insight.FailuresReply
	if err := x.client.read(ctx, "/v1/failures", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Why implements insight.Insight. A server of version 0.1.0 answers not_found.
func (x *Insight) Why(ctx context.Context, namespace, id string) (*insight.WhyReply, error) {
	if err := api.CheckID(id); err != nil {
		return nil, err
	}
	var answer insight.WhyReply
	if err := x.client.read(ctx, taskURL(id)+"/why", inNamespace(namespace), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
