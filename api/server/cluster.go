package server

import (
	"context"
	"net/http"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

func (h *handler) cluster(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	c, err := h.service.Cluster(ctx)
	if err != nil {
		return err
	}
	shown := *c
	shown.Nodes, shown.Workers = notNil(c.Nodes), notNil(c.Workers)
	return h.answer(w, http.StatusOK, meta, shown)
}

// healthz says that the process answers, and nothing more.
func (h *handler) healthz(w http.ResponseWriter, r *request) error {
	return h.answer(w, http.StatusOK, &api.Meta{}, codec.Health{Status: "ok"})
}

// metrics is GET /metrics, in the text format of Prometheus (SPEC C6).
func (h *handler) metrics(w http.ResponseWriter, r *request) error {
	if h.config.Metrics == nil {
		return api.NewError(api.CodeNotFound, "this server exports no metrics")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	h.config.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// readyz answers 200 if a leader is known, this node is caught up, and its disk works (SPEC H1).
func (h *handler) readyz(w http.ResponseWriter, r *request) error {
	return h.reply(w, r, func(ctx context.Context) (any, error) { return codec.Health{Status: "ready"}, h.service.Ready(ctx) })
}

// listWorkers is GET /v1/workers (SPEC J7).
func (h *handler) listWorkers(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		workers, err := h.service.Workers(ctx)
		return codec.WorkersAnswer{Workers: notNil(workers)}, err
	})
}

// listMembers is GET /v1/cluster/members.
func (h *handler) listMembers(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	c, err := h.service.Cluster(ctx)
	if err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, meta, codec.MembersAnswer{Members: notNil(c.Nodes)})
}

// drain is POST /v1/cluster/members/{id}/drain (SPEC L10).
func (h *handler) drain(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := api.CheckNode(id); err != nil {
		return err
	}
	var body codec.DrainBody
	release, err := h.readObject(w, r, &body, true)
	if err != nil {
		return err
	}
	defer release()
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		n, err := h.service.Drain(ctx, id, body.Drain == nil || *body.Drain)
		return codec.NodeAnswer{Node: n}, err
	})
}
