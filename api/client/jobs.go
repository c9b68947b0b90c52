package client

import (
	"context"
	"net/url"

	"github.com/taskrt/taskrt/api/jobs"
)

// Jobs starts, shows and cancels bulk jobs over HTTP (SPEC Q3). It is safe for concurrent use. A start whose outcome is unknown is sent again
// only under an idempotency key.
type Jobs struct{ client *Client }

var _ jobs.Jobs = (*Jobs)(nil)

// NewJobs asks through a Client, which the caller keeps open and closes.
func NewJobs(c *Client) *Jobs { return &Jobs{c} }

// Start implements jobs.Jobs.
func (x *Jobs) Start(ctx context.Context, a jobs.Action, r jobs.JobRequest) (*jobs.JobReply, error) {
	if err := r.Check(a); err != nil {
		return nil, err
	}
	return x.post(ctx, "/v1/tasks:"+string(a), r, r.DryRun)
}

// List implements jobs.Jobs.
func (x *Jobs) List(ctx context.Context, namespace string) (*jobs.JobList, error) {
	q := url.Values{}
	if namespace != "" {
		q.Set("namespace", namespace)
	}
	var answer jobs.JobList
	if err := x.client.read(ctx, "/v1/jobs", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Job implements jobs.Jobs.
func (x *Jobs) Job(ctx context.Context, id string) (*jobs.JobReply, error) {
	if _, err := jobs.Number(id); err != nil {
		return nil, err
	}
	var answer jobs.JobReply
	if err := x.client.read(ctx, "/v1/jobs/"+url.PathEscape(id), nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Cancel implements jobs.Jobs.
func (x *Jobs) Cancel(ctx context.Context, id string) (*jobs.JobReply, error) {
	if _, err := jobs.Number(id); err != nil {
		return nil, err
	}
	return x.post(ctx, "/v1/jobs/"+url.PathEscape(id)+"/cancel", struct{}{}, true)
}

func (x *Jobs) post(ctx context.Context, path string, body any, resend bool) (*jobs.JobReply, error) {
	var answer jobs.JobReply
	if _, err := x.client.post(ctx, path, nil, body, &answer, resend); err != nil {
		return nil, err
	}
	return &answer, nil
}
