package server

import (
	"context"
	"io"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/paced"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/task/access"
)

// snapshotRoutes are the routes of backups of the whole cluster (SPEC C8).
func snapshotRoutes() []route {
	return []route{
		{
			method: http.MethodGet, path: "/v1/snapshot", id: "saveSnapshot", needs: everywhere(access.Admin), serve: (*handler).saveSnapshot,
			summary: "A backup of the whole cluster, as a stream. What breaks it off stands in the stream.",
			query: []param{
				{name: "without_blobs", kind: boolParam, doc: "The state alone."},
				{name: "allow_missing", kind: boolParam, doc: "Go on without blobs that no node has."},
				{name: "rate", kind: numberParam, doc: "Bytes per second that are read, before they are packed. Default: 33554432."},
			},
			answers: []success{{http.StatusOK, "The backup.", []media{{name: codec.BytesMedia, doc: "The form that `taskrt snapshot verify` reads."}}}},
			errors:  []string{api.CodeLevelTooLow, api.CodeNotFound, "invalid_command", "token_revoked"},
		},
		{
			method: http.MethodGet, path: "/v1/snapshot/holds", id: "listHolds", needs: everywhere(access.Read), summary: "Who keeps blobs from being dropped.",
			serve:   ofSnapshots(func(ctx context.Context, s snapshot.Snapshots) (any, error) { return s.Holds(ctx) }),
			answers: []success{ok(snapshot.HoldsReply{})}, errors: []string{api.CodeNotFound},
		},
		{
			method: http.MethodPost, path: "/v1/snapshot/begin", id: "beginBackup", needs: everywhere(access.Admin), summary: "Let the servers make a scheduled backup now.",
			serve: ofSnapshots(func(ctx context.Context, s snapshot.Snapshots) (any, error) { return s.Begin(ctx) }), answers: []success{ok(snapshot.BeginReply{})}, errors: []string{api.CodeNotFound, "token_revoked"},
		},
	}
}

// ofSnapshots asks what saves backups.
func ofSnapshots(call func(context.Context, snapshot.Snapshots) (any, error)) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		return ask(h, w, r, h.config.Snapshots, call)
	}
}

// saveSnapshot is GET /v1/snapshot. Nothing is read ahead of what the client takes.
func (h *handler) saveSnapshot(w http.ResponseWriter, r *request) error {
	req := snapshot.SaveRequest{
		WithoutBlobs: r.query.flag("without_blobs"), AllowMissing: r.query.flag("allow_missing"), Rate: int64(min(r.query.number("rate"), snapshot.MaxRate+1)),
	}
	if err := r.query.done(); err != nil {
		return err
	}
	if h.config.Snapshots == nil {
		return api.NewError(api.CodeNotFound, "this server saves no backups")
	}
	if err := req.Check(); err != nil {
		return err
	}
	head(w, codec.BytesMedia)
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	ctx, cancel := h.untilStopping(r.Context())
	defer cancel()
	from, err := h.config.Snapshots.Save(ctx, req)
	if err != nil {
		return err
	}
	defer from.Close()
	w.WriteHeader(http.StatusOK)
	out := paced.NewWriter(w, writeTimeout)
	if _, err := io.CopyBuffer(&out, from, make([]byte, copyPiece)); err != nil {
		h.log.Warn("a backup broke off while it was sent", "err", err)
		panic(http.ErrAbortHandler) // half a backup must not look like a whole one
	}
	return nil
}
