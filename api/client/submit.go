package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Submit implements Service.
func (c *Client) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if r.Wait > 0 {
		return c.submitAndWait(ctx, &r)
	}
	if c.pipe != nil && idempotencyKey(ctx) == "" {
		reply, alone, err := c.pipe.submit(ctx, &r)
		if !alone {
			return reply, err
		}
	}
	var answer api.SubmitReply
	if _, err := c.do(ctx, submitCall(&r), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// submitCall is the call of a submit that has been checked.
func submitCall(r *api.SubmitRequest) call {
	return call{
		method: http.MethodPost, path: "/v1/tasks", query: url.Values{}, contentType: codec.JSONMedia, body: codec.AppendRequest(nil, r), resend: resendable(r), minimal: r.Minimal,
	}
}

// resendable reports whether a second submit joins the task of the first.
func resendable(r *api.SubmitRequest) bool {
	return r.ID != "" && (r.IfExists == "" || r.IfExists == "join")
}

// SubmitBatch implements Service. What does not fit into one body goes in several: a batch is not a transaction. If one
// of the later ones fails as a whole, its tasks and those after it have that error.
func (c *Client) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if err := api.CheckBatch(rs); err != nil {
		return nil, err
	}
	results := make([]api.SubmitResult, len(rs))
	b, first := newBatch(1, c.bodySize(rs)), true
	var failed error
	for i := range rs {
		r := rs[i]
		if err := r.Check(); err != nil {
			results[i].Error = api.ErrorOf(err)
			continue
		}
		b.add(i, &r)
		if b.size() > c.config.BatchBytes {
			if failed = c.sendBatch(ctx, b, results, failed); failed != nil && first {
				return nil, failed
			}
			b, first = newBatch(b.number+1, c.bodySize(rs[i+1:])), false
		}
	}
	if failed = c.sendBatch(ctx, b, results, failed); failed != nil && first {
		return nil, failed
	}
	return results, nil
}

// batch is one request of a SubmitBatch.
type batch struct {
	body      []byte // `]}` is missing
	positions []int  // of its tasks among the results
	resend    bool
	minimal   bool // all of its tasks ask for little
	number    int  // 1, 2, … within the call
}

func newBatch(number, size int) *batch {
	return &batch{resend: true, minimal: true, number: number, body: append(make([]byte, 0, size), `{"tasks":[`...)}
}

func (b *batch) size() int { return len(b.body) }

// bodySize guesses how much one body for these tasks takes.
func (c *Client) bodySize(rs []api.SubmitRequest) int {
	const around = 160 // names, and what stands between them
	size := around
	for i := range rs {
		size += around + len(rs[i].Params) + len(rs[i].ParamsBase64)*4/3
	}
	return min(size, c.config.BatchBytes+around)
}

func (b *batch) add(position int, r *api.SubmitRequest) {
	if len(b.positions) > 0 {
		b.body = append(b.body, ',')
	}
	b.body = codec.AppendRequest(b.body, r)
	b.positions, b.resend = append(b.positions, position), b.resend && resendable(r)
	b.minimal = b.minimal && r.Minimal
}

// sendBatch fills in the results of b's tasks. After a failure nothing more is sent, and the error is theirs.
func (c *Client) sendBatch(ctx context.Context, b *batch, results []api.SubmitResult, failed error) error {
	if len(b.positions) == 0 {
		return failed
	}
	var answer codec.SubmitResults
	if failed == nil {
		_, failed = c.do(ctx, call{
			method: http.MethodPost, path: "/v1/tasks", contentType: codec.JSONMedia, wait: slowWait, resend: b.resend, part: partOf(b.number),
			body: append(b.body, "]}"...), minimal: b.minimal,
		}, &answer)
		if failed == nil && len(answer.Results) != len(b.positions) {
			failed = api.NewError(api.CodeInternal, "%d answers to %d tasks", len(answer.Results), len(b.positions))
		}
	}
	for i, at := range b.positions {
		if failed == nil {
			results[at] = answer.Results[i]
		} else if results[at].Error = api.ErrorOf(failed); results[at].Error == nil {
			results[at].Error = api.NewError(api.CodeInternal, "%v", failed)
		}
	}
	return failed
}

// submitSlice is how much of a wait is asked for with the submit: should the node die meanwhile, it is not known whether a task was
// created that has no ID from its submitter. Who waits longer has the task's ID by then.
const submitSlice = 2 * time.Second

// submitAndWait submits with the first slice of the wait, then waits for the rest as every wait does.
func (c *Client) submitAndWait(ctx context.Context, r *api.SubmitRequest) (*api.SubmitReply, error) {
	end := time.Now().Add(r.Wait)
	k := submitCall(r)
	k.minimal, k.wait = false, min(r.Wait, submitSlice)
	k.query.Set("wait", k.wait.String())
	var reply api.SubmitReply
	if _, err := c.do(ctx, k, &reply); err != nil {
		return nil, err
	}
	if left := time.Until(end); reply.TimedOut && left > 0 && r.Wait > submitSlice {
		if err := reply.AwaitSubmitted(ctx, c, left); err != nil {
			return nil, err
		}
	}
	return &reply, nil
}
