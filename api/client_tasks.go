package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// pollSlice is how long one long poll of Client.Task lasts: short enough for proxies, and a node that died without a
// word is noticed.
const pollSlice = 20 * time.Second

// slowWait is added to the time that one exchange may take where the server has much to do: ten thousand tasks to store,
// a module to compile.
const slowWait = time.Minute

func inNamespace(namespace string) url.Values {
	q := url.Values{}
	if namespace != "" {
		q.Set("namespace", namespace)
	}
	return q
}

func taskURL(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

// Submit implements Service.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (*SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if c.pipe != nil && idempotencyKey(ctx) == "" {
		reply, alone, err := c.pipe.submit(ctx, &r)
		if !alone {
			return reply, err
		}
	}
	k := submitCall(&r)
	k.minimal = IsMinimal(ctx)
	var answer SubmitReply
	if _, err := c.do(ctx, k, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// submitCall is the call of a submit that has been checked.
func submitCall(r *SubmitRequest) call {
	return call{
		method: http.MethodPost, path: "/v1/tasks", query: url.Values{}, contentType: jsonMedia, body: appendRequest(nil, r), resend: r.resendable(),
	}
}

// resendable: a second submit joins the task of the first.
func (r *SubmitRequest) resendable() bool {
	return r.ID != "" && (r.IfExists == "" || r.IfExists == "join")
}

// SubmitBatch implements Service. What does not fit into one body goes in several: a batch is not a transaction. If one
// of the later ones fails as a whole, its tasks and those after it have that error.
func (c *Client) SubmitBatch(ctx context.Context, rs []SubmitRequest) ([]SubmitResult, error) {
	if err := CheckBatch(rs); err != nil {
		return nil, err
	}
	results := make([]SubmitResult, len(rs))
	b, first := newBatch(1, c.bodySize(rs)), true
	var failed error
	for i := range rs {
		r := rs[i]
		if err := r.check(); err != nil {
			results[i].Error = err
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
	number    int // 1, 2, … within the call
}

func newBatch(number, size int) *batch {
	return &batch{resend: true, number: number, body: append(make([]byte, 0, size), `{"tasks":[`...)}
}

func (b *batch) size() int { return len(b.body) }

// bodySize guesses how much one body for these tasks takes.
func (c *Client) bodySize(rs []SubmitRequest) int {
	const around = 160 // names, and what stands between them
	size := around
	for i := range rs {
		size += around + len(rs[i].Params) + len(rs[i].ParamsBase64)*4/3
	}
	return min(size, c.config.BatchBytes+around)
}

func (b *batch) add(position int, r *SubmitRequest) {
	if len(b.positions) > 0 {
		b.body = append(b.body, ',')
	}
	b.body = appendRequest(b.body, r)
	b.positions, b.resend = append(b.positions, position), b.resend && r.resendable()
}

// sendBatch fills in the results of b's tasks. After a failure nothing more is sent, and the error is theirs.
func (c *Client) sendBatch(ctx context.Context, b *batch, results []SubmitResult, failed error) error {
	if len(b.positions) == 0 {
		return failed
	}
	var answer submitResults
	if failed == nil {
		_, failed = c.do(ctx, call{
			method: http.MethodPost, path: "/v1/tasks", contentType: "application/json", wait: slowWait, resend: b.resend, part: partOf(b.number),
			body: append(b.body, "]}"...), minimal: IsMinimal(ctx),
		}, &answer)
		if failed == nil && len(answer.Results) != len(b.positions) {
			failed = NewError(CodeInternal, "%d answers to %d tasks", len(answer.Results), len(b.positions))
		}
	}
	for i, at := range b.positions {
		if failed == nil {
			results[at] = answer.Results[i]
		} else if results[at].Error, _ = errors.AsType[*Error](failed); results[at].Error == nil {
			results[at].Error = NewError(CodeInternal, "%v", failed)
		}
	}
	return failed
}

// Task implements Service. A wait may be of any length: it is asked for in slices, of whichever node answers.
func (c *Client) Task(ctx context.Context, namespace, id string, o GetOptions) (*Task, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	until, err := ParseUntil(o.Until)
	if err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		return c.get(ctx, namespace, id, o, false)
	}
	end := time.Now().Add(o.Wait)
	if until.isOutcome() && o.Since == 0 {
		// "From now" must not begin anew with every slice.
		now := o
		now.Wait = 0
		t, err := c.get(ctx, namespace, id, now, false)
		if err != nil || t.Final {
			return t, err
		}
		o.Since = t.Rev
	}
	for patient := false; ; patient = true {
		o.Wait = max(min(time.Until(end), pollSlice), 0)
		began := time.Now()
		t, err := c.get(ctx, namespace, id, o, patient)
		if err != nil || t.Final {
			return t, err
		}
		// An answer well before its time is what was waited for.
		if time.Since(began) < o.Wait-o.Wait/50 || time.Until(end) <= 0 {
			return t, nil
		}
	}
}

func (c *Client) get(ctx context.Context, namespace, id string, o GetOptions, patient bool) (*Task, error) {
	q := inNamespace(namespace)
	if o.Wait > 0 {
		q.Set("wait", o.Wait.String())
	}
	if o.Until != "" {
		q.Set("until", o.Until)
	}
	setNumber(q, "since", o.Since)
	setReading(q, o.Stale, o.MinIndex)
	var answer taskAnswer
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: taskURL(id), query: q, wait: o.Wait, resend: true, patient: patient,
	}, &answer)
	return answer.Task, err
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
func (c *Client) Tasks(ctx context.Context, r ListRequest) (*ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := inNamespace(r.Namespace)
	for name, value := range map[string]string{
		"behavior": r.Behavior, "parent": r.Parent, "cursor": r.Cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	q["status"], q["label"] = r.Statuses, r.Labels
	if r.DueBefore != nil {
		q.Set("due_before", Time{*r.DueBefore}.String())
	}
	q.Set("limit", strconv.Itoa(r.Limit))
	setReading(q, r.Stale, r.MinIndex)
	var answer ListReply
	if err := c.read(ctx, "/v1/tasks", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Cancel implements Service.
func (c *Client) Cancel(ctx context.Context, namespace, id string) (*CancelReply, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	var answer CancelReply
	r, err := c.do(ctx, call{method: http.MethodPost, path: taskURL(id) + "/cancel", query: inNamespace(namespace), resend: true}, &answer)
	if err != nil {
		return nil, err
	}
	answer.Told = r.status == http.StatusAccepted
	return &answer, nil
}

// Remove implements Service.
func (c *Client) Remove(ctx context.Context, namespace, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	r, err := c.do(ctx, call{method: http.MethodDelete, path: taskURL(id), query: inNamespace(namespace), resend: true}, nil)
	if r.maybe && CodeOf(err) == CodeTaskNotFound {
		return nil // the first send has done it
	}
	return err
}

// Logs implements Service.
func (c *Client) Logs(ctx context.Context, namespace, id string) (*LogsReply, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	var answer LogsReply
	if err := c.read(ctx, taskURL(id)+"/logs", inNamespace(namespace), &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Push implements Service. It reads the file into memory, so that it can be sent again.
func (c *Client) Push(ctx context.Context, r PushRequest) (*Module, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	wasm, err := io.ReadAll(io.LimitReader(r.Wasm, MaxModule+1))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	if len(wasm) > MaxModule {
		return nil, bodyTooLarge(MaxModule)
	}
	k := call{method: http.MethodPost, path: "/v1/modules", query: inNamespace(r.Namespace), contentType: "application/wasm", body: wasm, resend: true}
	if r.Name != "" {
		k.query.Set("name", r.Name)
	}
	if r.Manifest != nil {
		if k.body, k.contentType, err = withManifest(wasm, r.Manifest); err != nil {
			return nil, err
		}
	}
	k.wait = slowWait
	var answer moduleAnswer
	if _, err := c.do(ctx, k, &answer); err != nil {
		return nil, err
	}
	return answer.Module, nil
}

// withManifest makes a multipart body: a manifest may be longer than a URL.
func withManifest(wasm []byte, manifest json.RawMessage) (body []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	sum := sha256.Sum256(append(manifest[:len(manifest):len(manifest)], wasm...))
	if err := w.SetBoundary(hex.EncodeToString(sum[:])); err != nil { // the same body every time: see WithIdempotencyKey
		return nil, "", fmt.Errorf("make multipart body: %w", err)
	}
	for _, part := range []struct {
		name string
		data []byte
	}{{"manifest", manifest}, {"module", wasm}} {
		p, err := w.CreateFormFile(part.name, part.name)
		if err != nil {
			return nil, "", fmt.Errorf("make multipart body: %w", err)
		}
		if _, err := p.Write(part.data); err != nil {
			return nil, "", fmt.Errorf("make multipart body: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("make multipart body: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// Modules implements Service.
func (c *Client) Modules(ctx context.Context, namespace string) ([]Module, error) {
	var answer modulesAnswer
	err := c.read(ctx, "/v1/modules", inNamespace(namespace), &answer)
	return answer.Modules, err
}

// Module implements Service.
func (c *Client) Module(ctx context.Context, namespace, digest string) (*Module, error) {
	var answer moduleAnswer
	err := c.read(ctx, "/v1/modules/"+url.PathEscape(digest), inNamespace(namespace), &answer)
	return answer.Module, err
}

// Behaviors implements Service.
func (c *Client) Behaviors(ctx context.Context, namespace string) ([]Behavior, error) {
	var answer behaviorsAnswer
	err := c.read(ctx, "/v1/behaviors", inNamespace(namespace), &answer)
	return answer.Behaviors, err
}

// Behavior implements Service.
func (c *Client) Behavior(ctx context.Context, namespace, name string) (*BehaviorDetail, error) {
	if err := CheckBehaviorName("name", name); err != nil {
		return nil, err
	}
	var answer behaviorAnswer
	err := c.read(ctx, "/v1/behaviors/"+url.PathEscape(name), inNamespace(namespace), &answer)
	return answer.Behavior, err
}

// Cluster implements Service.
func (c *Client) Cluster(ctx context.Context) (*Cluster, error) {
	var answer Cluster
	if err := c.read(ctx, "/v1/cluster", nil, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Ready implements Service: some node is ready.
func (c *Client) Ready(ctx context.Context) error {
	return c.read(ctx, "/readyz", nil, nil)
}

func (c *Client) read(ctx context.Context, path string, q url.Values, v any) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, query: q, resend: true}, v)
	return err
}
