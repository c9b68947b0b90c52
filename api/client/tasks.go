package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// pollSlice is how long one long poll of Client.Task lasts: short enough for proxies, and for noticing a node that died without
// a word.
const pollSlice = 20 * time.Second

// slowWait is added to the time that one exchange may take if the server has much to do: ten thousand tasks to store, or a
// module to compile.
const slowWait = time.Minute

func inNamespace(namespace string) url.Values {
	q := url.Values{}
	setText(q, "namespace", namespace)
	return q
}

func taskURL(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

// Task implements Service. A wait may be of any length: the client asks for it in slices, each from whichever node answers.
func (c *Client) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	if err := api.CheckID(id); err != nil {
		return nil, err
	}
	until, err := api.ParseUntil(o.Until)
	if err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		return c.get(ctx, namespace, id, o, time.Time{}, false)
	}
	end := time.Now().Add(o.Wait)
	if ofOutcome(until) && o.Since == 0 {
		// "From the current rev" must not begin anew with every slice.
		now := o
		now.Wait = 0
		t, err := c.get(ctx, namespace, id, now, time.Time{}, false)
		if err != nil || t.Final {
			return t, err
		}
		o.Since = t.Rev
	}
	return inSlices(ctx, end, func(slice time.Duration, patient bool) (t *api.Task, final bool, err error) {
		o.Wait = slice
		t, err = c.get(ctx, namespace, id, o, end, patient)
		return t, err == nil && t.Final, err
	})
}

// inSlices waits until end, in slices. get asks some node for one slice of the wait. patient says that a node answered a moment
// ago.
func inSlices[T any](ctx context.Context, end time.Time, get func(slice time.Duration, patient bool) (v T, final bool, err error)) (T, error) {
	for patient := false; ; patient = true {
		slice := max(min(time.Until(end), pollSlice), 0)
		began := time.Now()
		v, final, err := get(slice, patient)
		if Passes(err) && ctx.Err() == nil && time.Until(end) > 0 {
			continue // nobody leads: the wait is as long as the caller said
		}
		if err != nil || final {
			return v, err
		}
		// An answer well before the end of the slice means that the wait is over.
		if time.Since(began) < slice-slice/50 || time.Until(end) <= 0 {
			return v, nil
		}
	}
}

// Passes reports whether an error says that a cluster, which answers, does nothing just now: that nobody leads it, for instance.
func Passes(err error) bool {
	e := api.ErrorOf(err)
	return e != nil && judge(e) == nothing
}

// patience is for how long a call is sent again that certainly did nothing: no slice of a wait goes on behind the end of the wait for longer than
// any other request would.
func (k *call) patience(retryFor time.Duration) time.Duration {
	if k.end.IsZero() {
		return retryFor + k.wait
	}
	return min(retryFor+k.wait, max(retryFor, time.Until(k.end)))
}

// shorten lets a slice that is sent again ask for no more than what is left of the wait.
func (k *call) shorten() {
	if left := max(time.Until(k.end), 0); !k.end.IsZero() && left < k.wait {
		k.wait = left
		k.query.Set("wait", left.String())
	}
}

// ofOutcome reports whether a wait is for an outcome above a rev.
func ofOutcome(u api.Until) bool {
	return u.Kind == "success" || u.Kind == "failure" || u.Kind == "outcome"
}

func (c *Client) get(ctx context.Context, namespace, id string, o api.GetOptions, end time.Time, patient bool) (*api.Task, error) {
	q := inNamespace(namespace)
	if o.Wait > 0 {
		q.Set("wait", o.Wait.String())
	}
	setText(q, "until", o.Until)
	setNumber(q, "since", o.Since)
	setReading(q, o.Stale, o.MinIndex)
	var answer codec.TaskAnswer
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: taskURL(id), query: q, wait: o.Wait, resend: true, end: end, patient: patient,
	}, &answer)
	return answer.Task, err
}

func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setNumber(q url.Values, name string, n uint64) {
	if n > 0 {
		q.Set(name, strconv.FormatUint(n, 10))
	}
}

func setReading(q url.Values, stale bool, minIndex uint64) {
	if stale {
		q.Set("consistency", "stale")
	}
	setNumber(q, "min_index", minIndex)
}

// Tasks implements Service.
func (c *Client) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := inNamespace(r.Namespace)
	for name, text := range map[string]string{
		"parent": r.Parent, "cursor": r.Cursor, "worker": r.Worker, "node": r.Node, "id_prefix": r.IDPrefix,
	} {
		setText(q, name, text)
	}
	q["status"], q["label"], q["behavior"], q["error"], q["fields"] = r.Statuses, r.Labels, r.Behaviors, r.Errors, r.Fields
	for name, at := range map[string]*time.Time{
		"due_before": r.DueBefore, "created_from": r.Created.From, "created_to": r.Created.To, "started_from": r.Started.From, "started_to": r.Started.To,
		"finished_from": r.Finished.From, "finished_to": r.Finished.To,
	} {
		if at != nil {
			q.Set(name, api.Time{Time: *at}.String())
		}
	}
	if r.Final != nil {
		q.Set("final", strconv.FormatBool(*r.Final))
	}
	if r.Desc {
		q.Set("order", "desc")
	}
	if r.Count {
		q.Set("count", "true")
	}
	q.Set("limit", strconv.Itoa(r.Limit))
	setReading(q, r.Stale, r.MinIndex)
	var answer api.ListReply
	if err := c.read(ctx, "/v1/tasks", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Cancel implements Service.
func (c *Client) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	if err := api.CheckID(id); err != nil {
		return nil, err
	}
	var answer api.CancelReply
	r, err := c.do(ctx, call{method: http.MethodPost, path: taskURL(id) + "/cancel", query: inNamespace(namespace), resend: true}, &answer)
	if err != nil {
		return nil, err
	}
	answer.Told = r.status == http.StatusAccepted
	return &answer, nil
}

// Remove implements Service.
func (c *Client) Remove(ctx context.Context, namespace, id string) error {
	if err := api.CheckID(id); err != nil {
		return err
	}
	r, err := c.do(ctx, call{method: http.MethodDelete, path: taskURL(id), query: inNamespace(namespace), resend: true}, nil)
	if r.maybe && api.CodeOf(err) == api.CodeTaskNotFound {
		return nil // the first request has removed it
	}
	return err
}

// Logs implements Service.
func (c *Client) Logs(ctx context.Context, namespace, id string, g api.LogsGet) (*api.LogsReply, error) {
	if err := api.CheckID(id); err != nil {
		return nil, err
	}
	q := inNamespace(namespace)
	if g.FromToken > 0 { // servers of 0.1.0 know neither
		q.Set("from_token", strconv.FormatUint(g.FromToken, 10))
		q.Set("from_offset", strconv.FormatInt(g.FromOffset, 10))
	}
	var answer api.LogsReply
	if err := c.read(ctx, taskURL(id)+"/logs", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// WaitTasks implements Service.
func (c *Client) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := url.Values{}
	setReading(q, r.Stale, r.MinIndex)
	var answer api.WaitReply
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/tasks:wait", query: q, contentType: codec.JSONMedia, body: codec.Encode(r),
		wait: time.Duration(*r.Timeout), resend: true,
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// Retry implements Service.
func (c *Client) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer codec.TaskAnswer
	_, err := c.post(ctx, taskURL(r.ID)+"/retry", inNamespace(r.Namespace), r, &answer, false)
	return answer.Task, err
}

// Resubmit implements Service.
func (c *Client) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer api.SubmitReply
	if _, err := c.post(ctx, taskURL(r.ID)+"/resubmit", inNamespace(r.Namespace), r, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Txn implements Service.
func (c *Client) Txn(ctx context.Context, r api.TxnRequest) (*api.TxnReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer api.TxnReply
	if _, err := c.post(ctx, "/v1/txn", inNamespace(r.Namespace), r, &answer, false); err != nil {
		return nil, err
	}
	return &answer, nil
}
