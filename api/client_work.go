package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// post sends a JSON body; resend says whether it may be sent again though it may have happened.
func (c *Client) post(ctx context.Context, path string, q url.Values, body, answer any, resend bool) (*reply, error) {
	return c.do(ctx, call{
		method: http.MethodPost, path: path, query: q, contentType: jsonMedia, body: encode(body), resend: resend,
	}, answer)
}

// Retry implements Service.
func (c *Client) Retry(ctx context.Context, r RetryRequest) (*Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer taskAnswer
	_, err := c.post(ctx, taskURL(r.ID)+"/retry", inNamespace(r.Namespace), r, &answer, false)
	return answer.Task, err
}

// Resubmit implements Service.
func (c *Client) Resubmit(ctx context.Context, r ResubmitRequest) (*SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer SubmitReply
	if _, err := c.post(ctx, taskURL(r.ID)+"/resubmit", inNamespace(r.Namespace), r, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Heartbeat implements Service.
func (c *Client) Heartbeat(ctx context.Context, r HeartbeatRequest) (*HeartbeatReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer HeartbeatReply
	if _, err := c.post(ctx, taskURL(r.ID)+"/heartbeat", inNamespace(r.Namespace), r, &answer, true); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Finish implements Service. It may be sent again: the same finish is answered as repeated (SPEC L3).
func (c *Client) Finish(ctx context.Context, r FinishRequest) (*FinishReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer FinishReply
	if _, err := c.post(ctx, taskURL(r.ID)+"/finish", inNamespace(r.Namespace), r, &answer, true); err != nil {
		return nil, err
	}
	return &answer, nil
}

// FinishMany implements Service. Reports that do not fit into one body go in several.
func (c *Client) FinishMany(ctx context.Context, rs []FinishRequest) ([]FinishResult, error) {
	if err := CheckReports(rs); err != nil {
		return nil, err
	}
	results := make([]FinishResult, len(rs))
	var body reports
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
		if results[i].Error = checkReport(&f, i, seen); results[i].Error != nil {
			continue
		}
		body.Reports, positions = append(body.Reports, f), append(positions, i)
		if size += len(encode(f)) + 1; size > c.config.BatchBytes {
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

func (c *Client) sendReports(ctx context.Context, body reports, positions []int, results []FinishResult, part string) error {
	var answer finishResults
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/tasks:finish", contentType: jsonMedia, body: encode(body), resend: true, part: part, wait: slowWait,
	}, &answer)
	if err != nil {
		return err
	}
	if len(answer.Results) != len(positions) {
		return NewError(CodeInternal, "%d answers to %d reports", len(answer.Results), len(positions))
	}
	for i, at := range positions {
		results[at] = answer.Results[i]
	}
	return nil
}

// Snooze implements Service.
func (c *Client) Snooze(ctx context.Context, r SnoozeRequest) (*Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer taskAnswer
	_, err := c.post(ctx, taskURL(r.ID)+"/snooze", inNamespace(r.Namespace), r, &answer, true)
	return answer.Task, err
}

// Txn implements Service.
func (c *Client) Txn(ctx context.Context, r TxnRequest) (*TxnReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer TxnReply
	if _, err := c.post(ctx, "/v1/txn", inNamespace(r.Namespace), r, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Accept implements Service. A wait may be of any length: it is asked for in slices, of whichever node answers, all
// under one request_id, so that tasks whose answer was lost are handed out again rather than lost until their lease ends.
func (c *Client) Accept(ctx context.Context, r AcceptRequest) (*AcceptReply, error) {
	wait := time.Duration(0)
	if r.Wait != nil {
		wait = time.Duration(*r.Wait)
	}
	if wait < 0 {
		return nil, r.Check()
	}
	if r.RequestID == "" {
		r.RequestID = requestOf(idempotencyKey(ctx))
	}
	if r.RequestID == "" {
		r.RequestID = rand.Text()
	}
	end := time.Now().Add(wait)
	for patient := false; ; patient = true {
		slice := Duration(max(min(time.Until(end), pollSlice), 0))
		r.Wait = &slice
		if err := r.Check(); err != nil {
			return nil, err
		}
		var answer AcceptReply
		_, err := c.do(ctx, call{
			method: http.MethodPost, path: behaviorURL(r.Behavior) + "/accept", query: inNamespace(r.Namespace), contentType: jsonMedia,
			body: encode(r), wait: time.Duration(slice), resend: true, patient: patient,
		}, &answer)
		if err != nil {
			return nil, err
		}
		if len(answer.Tasks) > 0 || time.Until(end) <= 0 {
			return &answer, nil
		}
	}
}

func behaviorURL(name string) string { return "/v1/behaviors/" + url.PathEscape(name) }

// PutBehavior implements Service.
func (c *Client) PutBehavior(ctx context.Context, r PutBehaviorRequest) (*PutBehaviorReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer PutBehaviorReply
	got, err := c.do(ctx, call{
		method: http.MethodPut, path: behaviorURL(r.Name), query: inNamespace(r.Namespace), contentType: jsonMedia, body: r.Policy, resend: true,
	}, &answer)
	if err != nil {
		return nil, err
	}
	answer.Created = got.status == http.StatusCreated
	return &answer, nil
}

// DeleteBehavior implements Service.
func (c *Client) DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error {
	if err := CheckBehaviorName("name", name); err != nil {
		return err
	}
	q := inNamespace(namespace)
	if purge {
		q.Set("purge", "true")
	}
	got, err := c.do(ctx, call{method: http.MethodDelete, path: behaviorURL(name), query: q, resend: true}, nil)
	if got.maybe && CodeOf(err) == CodeBehaviorNotFound {
		return nil // the first send has done it
	}
	return err
}

// ActivateVersion implements Service.
func (c *Client) ActivateVersion(ctx context.Context, namespace, name, version string) (*BehaviorDetail, error) {
	return c.changeBehavior(ctx, namespace, name, "/activate", activateBody{version})
}

// PauseBehavior implements Service.
func (c *Client) PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*BehaviorDetail, error) {
	if paused {
		return c.changeBehavior(ctx, namespace, name, "/pause", struct{}{})
	}
	return c.changeBehavior(ctx, namespace, name, "/resume", struct{}{})
}

func (c *Client) changeBehavior(ctx context.Context, namespace, name, what string, body any) (*BehaviorDetail, error) {
	if err := CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer behaviorAnswer
	_, err := c.post(ctx, behaviorURL(name)+what, inNamespace(namespace), body, &answer, true)
	return answer.Behavior, err
}

// BehaviorStats implements Service.
func (c *Client) BehaviorStats(ctx context.Context, namespace, name string) (*BehaviorStats, error) {
	if err := CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer BehaviorStats
	if err := c.read(ctx, behaviorURL(name)+"/stats", inNamespace(namespace), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Workers implements Service.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	var answer workersAnswer
	err := c.read(ctx, "/v1/workers", nil, &answer)
	return answer.Workers, err
}

// Drain implements Service.
func (c *Client) Drain(ctx context.Context, node string, drain bool) (*Node, error) {
	if err := CheckNode(node); err != nil {
		return nil, err
	}
	var answer nodeAnswer
	_, err := c.post(ctx, "/v1/cluster/members/"+url.PathEscape(node)+"/drain", nil, drainBody{&drain}, &answer, true)
	return answer.Node, err
}

// OpenAPI returns the OpenAPI document of the server that answers.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	var answer json.RawMessage
	err := c.read(ctx, "/openapi.json", nil, &answer)
	return answer, err
}
