package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/client/internal/events"
)

// Audit shows who changed what in a cluster, over HTTP (SPEC A8). It is safe for concurrent use.
type Audit struct{ client *Client }

var _ auth.Audit = (*Audit)(nil)

// NewAudit shows the audit through a Client, which the caller keeps open and closes.
func NewAudit(c *Client) *Audit { return &Audit{c} }

// Audit implements auth.Audit.
func (a *Audit) Audit(ctx context.Context, r auth.AuditRequest) (*auth.AuditReply, error) {
	cursor := r.Cursor
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := auditQuery(&r)
	q.Set("limit", strconv.Itoa(r.Limit))
	setText(q, "cursor", cursor)
	if r.HasAfter {
		q.Set("after", strconv.FormatUint(r.After, 10))
	}
	var answer auth.AuditReply
	if err := a.client.read(ctx, "/v1/audit", q, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// FollowAudit implements auth.Audit. A stream that breaks goes on at another node, from where it broke off.
func (a *Audit) FollowAudit(ctx context.Context, r auth.AuditRequest) (api.EventStream, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return follow(ctx, a.client, "/v1/audit", auditQuery(&r), events.Place{Last: r.After, Known: r.HasAfter || r.Cursor != ""})
}

func auditQuery(r *auth.AuditRequest) url.Values {
	q := url.Values{}
	setText(q, "token", r.Token)
	setText(q, "route", r.Route)
	setText(q, "namespace", r.Namespace)
	setText(q, "refused", r.Refused)
	return q
}
