package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// ofBehavior reads namespace and name of a route of one behavior.
func ofBehavior(r *request, q *query) (namespace, name string) {
	name = r.PathValue("name")
	if err := api.CheckBehaviorName("name", name); err != nil {
		q.fail(err)
	}
	return q.namespace(), name
}

// putBehavior is PUT /v1/behaviors/{name} (SPEC B7, J1): 201 if it is new.
func (h *handler) putBehavior(w http.ResponseWriter, r *request) error {
	q := r.query
	var req api.PutBehaviorRequest
	req.Namespace, req.Name = ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return err
	}
	defer release()
	req.Policy = body
	ctx, meta := r.call()
	reply, err := h.service.PutBehavior(ctx, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Created {
		status = http.StatusCreated
	}
	return h.answer(w, status, meta, codec.BehaviorAnswer{Behavior: reply.Behavior})
}

// deleteBehavior is DELETE /v1/behaviors/{name} (SPEC B8).
func (h *handler) deleteBehavior(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, name := ofBehavior(r, q)
	purge := q.flag("purge")
	if err := q.done(); err != nil {
		return err
	}
	return replyNothing(h, w, r, func(ctx context.Context) error { return h.service.DeleteBehavior(ctx, ns, name, purge) })
}

// listVersions is GET /v1/behaviors/{name}/versions (SPEC B2).
func (h *handler) listVersions(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, name := ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	b, err := h.service.Behavior(ctx, ns, name)
	if err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, meta, codec.VersionsAnswer{Versions: notNil(b.Versions)})
}

// activateVersion is POST /v1/behaviors/{name}/activate (SPEC B2).
func (h *handler) activateVersion(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, name := ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	var body codec.ActivateBody
	release, err := h.readObject(w, r, &body, false)
	if err != nil {
		return err
	}
	defer release()
	if err := api.CheckHex("version", body.Version); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		b, err := h.service.ActivateVersion(ctx, ns, name, body.Version)
		return codec.BehaviorAnswer{Behavior: b}, err
	})
}

// pauseBehavior is POST /v1/behaviors/{name}/pause and …/resume (SPEC L10).
func pauseBehavior(paused bool) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		q := r.query
		ns, name := ofBehavior(r, q)
		if err := q.done(); err != nil {
			return err
		}
		if err := h.noBody(w, r); err != nil {
			return err
		}
		return h.reply(w, r, func(ctx context.Context) (any, error) {
			b, err := h.service.PauseBehavior(ctx, ns, name, paused)
			return codec.BehaviorAnswer{Behavior: b}, err
		})
	}
}

// behaviorStats is GET /v1/behaviors/{name}/stats (SPEC J7).
func (h *handler) behaviorStats(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, name := ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return h.service.BehaviorStats(ctx, ns, name) })
}

func (h *handler) listBehaviors(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		behaviors, err := h.service.Behaviors(ctx, ns)
		return codec.BehaviorsAnswer{Behaviors: notNil(behaviors)}, err
	})
}

func (h *handler) getBehavior(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, name := ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		b, err := h.service.Behavior(ctx, ns, name)
		return codec.BehaviorAnswer{Behavior: b}, err
	})
}
