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

func operationURL(id string) string { return "/v1/operations/" + url.PathEscape(id) }

// StartOperation implements Service. Without an idempotency key the request is not sent again once it may have been done.
func (c *Client) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var answer codec.OperationAnswer
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/operations", contentType: codec.JSONMedia, body: codec.Encode(r), wait: slowWait,
	}, &answer)
	return answer.Operation, err
}

// Operation implements Service. A wait may be of any length: the client asks for it in slices, each from whichever node
// answers.
func (c *Client) Operation(ctx context.Context, namespace, id string, o api.OperationGet) (*api.Operation, error) {
	if err := api.CheckOperationID(id); err != nil {
		return nil, err
	}
	if _, err := api.ParseOperationUntil(o.Until); err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		return c.getOperation(ctx, namespace, id, o, time.Time{}, false)
	}
	end := time.Now().Add(o.Wait)
	return inSlices(ctx, end, func(slice time.Duration, patient bool) (op *api.Operation, final bool, err error) {
		o.Wait = slice
		op, err = c.getOperation(ctx, namespace, id, o, end, patient)
		return op, err == nil && op.Final(), err
	})
}

func (c *Client) getOperation(ctx context.Context, namespace, id string, o api.OperationGet, end time.Time, patient bool) (*api.Operation, error) {
	q := inNamespace(namespace)
	if o.Wait > 0 {
		q.Set("wait", o.Wait.String())
	}
	setText(q, "until", o.Until)
	setReading(q, o.Stale, o.MinIndex)
	var answer codec.OperationAnswer
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: operationURL(id), query: q, wait: o.Wait, resend: true, end: end, patient: patient,
	}, &answer)
	return answer.Operation, err
}

// Operations implements Service.
func (c *Client) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := inNamespace(r.Namespace)
	setText(q, "status", r.Status)
	setText(q, "behavior", r.Behavior)
	setText(q, "target", r.Target)
	setText(q, "cursor", r.Cursor)
	q.Set("limit", strconv.Itoa(r.Limit))
	setReading(q, r.Stale, r.MinIndex)
	var answer api.OperationsReply
	if err := c.read(ctx, "/v1/operations", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Partitions implements Service.
func (c *Client) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := inNamespace(r.Namespace)
	setText(q, "status", r.Status)
	setText(q, "cursor", r.Cursor)
	q.Set("limit", strconv.Itoa(r.Limit))
	var answer api.ListReply
	if err := c.read(ctx, operationURL(r.ID)+"/partitions", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CancelOperation implements Service. A second cancel changes nothing.
func (c *Client) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return c.changeOperation(ctx, namespace, id, "/cancel", true)
}

// RetryOperation implements Service.
func (c *Client) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return c.changeOperation(ctx, namespace, id, "/retry", false)
}

func (c *Client) changeOperation(ctx context.Context, namespace, id, what string, resend bool) (*api.Operation, error) {
	if err := api.CheckOperationID(id); err != nil {
		return nil, err
	}
	var answer codec.OperationAnswer
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: operationURL(id) + what, query: inNamespace(namespace), resend: resend,
	}, &answer)
	return answer.Operation, err
}

// RemoveOperation implements Service.
func (c *Client) RemoveOperation(ctx context.Context, namespace, id string) error {
	if err := api.CheckOperationID(id); err != nil {
		return err
	}
	r, err := c.do(ctx, call{method: http.MethodDelete, path: operationURL(id), query: inNamespace(namespace), resend: true}, nil)
	if r.maybe && api.CodeOf(err) == "operation_not_found" {
		return nil // the first request has removed it
	}
	return err
}
