package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/stream"
)

// showAudit is GET /v1/audit (SPEC A8).
func showAudit(h *handler, w http.ResponseWriter, r *request) error {
	q := r.query
	req := auth.AuditRequest{
		HasAfter: q.values.Has("after"), After: q.number("after"), Limit: q.limit(), Cursor: q.text("cursor"),
		Token: q.text("token"), Route: q.text("route"), Namespace: q.text("namespace"), Refused: q.text("refused"),
	}
	if err := q.done(); err != nil {
		return err
	}
	if h.config.Audit == nil {
		return api.NewError(api.CodeTokenNotFound, "this cluster is open: it has no tokens, and records nothing")
	}
	follow := codec.TakesEvents(r.Header.Values("Accept"))
	if follow {
		if err := stream.LastEvent(r.Header, &req.After, &req.HasAfter); err != nil {
			return err
		}
	}
	if err := req.Check(); err != nil {
		return err
	}
	if follow {
		return streamTo(h, w, r, req.After, func(ctx context.Context) (api.EventStream, error) { return h.config.Audit.FollowAudit(ctx, req) })
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		reply, err := h.config.Audit.Audit(ctx, req)
		if err == nil {
			reply.Records = notNil(reply.Records)
		}
		return reply, err
	})
}
