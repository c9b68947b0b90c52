package api

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"time"
)

// parts reads the parts of a multipart body that is in memory already.
type parts struct{ r *multipart.Reader }

func newParts(body []byte, boundary string) parts {
	return parts{multipart.NewReader(bytes.NewReader(body), boundary)}
}

func (p parts) next() (name string, value []byte, err error) {
	part, err := p.r.NextPart()
	if err != nil {
		return "", nil, err
	}
	value, err = io.ReadAll(part)
	if value == nil {
		value = []byte{}
	}
	return part.FormName(), value, err
}

func (h *handler) listModules(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		modules, err := h.service.Modules(ctx, ns)
		return modulesAnswer{notNil(modules)}, err
	})
}

func (h *handler) getModule(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, digest := q.namespace(), r.PathValue("digest")
	if err := checkDigest("digest", digest); err != nil {
		q.fail(err)
	}
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		m, err := h.service.Module(ctx, ns, digest)
		return moduleAnswer{m}, err
	})
}

func isHexByte(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func (h *handler) listBehaviors(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		behaviors, err := h.service.Behaviors(ctx, ns)
		return behaviorsAnswer{notNil(behaviors)}, err
	})
}

func (h *handler) getBehavior(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, name := ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		b, err := h.service.Behavior(ctx, ns, name)
		return behaviorAnswer{b}, err
	})
}

func (h *handler) cluster(w http.ResponseWriter, r *http.Request) error {
	if err := queryOf(r).done(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	c, err := h.service.Cluster(ctx)
	if err != nil {
		return err
	}
	shown := *c
	shown.Nodes, shown.Workers = notNil(c.Nodes), notNil(c.Workers)
	return h.answer(w, http.StatusOK, meta, shown)
}

// healthz says that the process answers, nothing more.
func (h *handler) healthz(w http.ResponseWriter, r *http.Request) error {
	return h.answer(w, http.StatusOK, &Meta{}, health{"ok"})
}

// metrics is SPEC C6, in the text format of Prometheus.
func (h *handler) metrics(w http.ResponseWriter, r *http.Request) error {
	if h.config.Metrics == nil {
		return NewError(CodeNotFound, "this server exports no metrics")
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	h.config.Metrics.ServeHTTP(w, r)
	return nil
}

// readyz is SPEC H1: a leader is known, this node is caught up, its disk works.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) error {
	ctx, meta := WithMeta(r.Context())
	if err := h.service.Ready(ctx); err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, meta, health{"ready"})
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
