package server

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/paced"
)

// listNamespaces is GET /v1/namespaces.
func (h *handler) listNamespaces(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	all, err := h.service.Namespaces(ctx)
	if err != nil {
		return err
	}
	return answerList(w, meta, "namespaces", slices.Values(all), nil)
}

// namespacePath reads the name of a route of one namespace.
func namespacePath(r *request) (string, error) {
	name := r.PathValue("name")
	if err := r.query.done(); err != nil {
		return "", err
	}
	return name, api.CheckNamespaceName(name)
}

// replyNamespace answers with what call returns.
func (h *handler) replyNamespace(w http.ResponseWriter, r *request, status int, call func(context.Context) (*api.Namespace, error)) error {
	return h.replyAs(w, r, status, func(ctx context.Context) (any, error) {
		n, err := call(ctx)
		return codec.NamespaceAnswer{Namespace: n}, err
	})
}

// getNamespace is GET /v1/namespaces/{name}.
func (h *handler) getNamespace(w http.ResponseWriter, r *request) error {
	name, err := namespacePath(r)
	if err != nil {
		return err
	}
	return h.replyNamespace(w, r, http.StatusOK, func(ctx context.Context) (*api.Namespace, error) { return h.service.Namespace(ctx, name) })
}

// createNamespace is POST /v1/namespaces.
func (h *handler) createNamespace(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	var s api.NamespaceSettings
	release, err := h.readObject(w, r, &s, false)
	if err != nil {
		return err
	}
	defer release()
	return h.replyNamespace(w, r, http.StatusCreated, func(ctx context.Context) (*api.Namespace, error) { return h.service.CreateNamespace(ctx, s) })
}

// updateNamespace is PATCH /v1/namespaces/{name}.
func (h *handler) updateNamespace(w http.ResponseWriter, r *request) error {
	name, err := namespacePath(r)
	if err != nil {
		return err
	}
	var s api.NamespaceSettings
	release, err := h.readObject(w, r, &s, false)
	if err != nil {
		return err
	}
	defer release()
	if s.Name != "" && s.Name != name {
		return api.FieldError(api.CodeInvalidField, "name", "is %.80q in the body and %q in the path", s.Name, name)
	}
	s.Name = name
	return h.replyNamespace(w, r, http.StatusOK, func(ctx context.Context) (*api.Namespace, error) { return h.service.UpdateNamespace(ctx, s) })
}

// setNamespaceStatus is POST /v1/namespaces/{name}/activate, …/deactivate and …/purge.
func setNamespaceStatus(status string) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		name, err := namespacePath(r)
		if err != nil {
			return err
		}
		if err := h.noBody(w, r); err != nil {
			return err
		}
		return h.replyNamespace(w, r, http.StatusOK, func(ctx context.Context) (*api.Namespace, error) {
			return h.service.SetNamespaceStatus(ctx, name, status)
		})
	}
}

// exportNamespace is GET /v1/namespaces/{name}/export (SPEC M5). Nothing is read ahead of what the client takes.
func (h *handler) exportNamespace(w http.ResponseWriter, r *request) error {
	raw := r.query.flag("raw")
	name, err := namespacePath(r)
	if err != nil {
		return err
	}
	ctx, meta := r.call()
	ctx, cancel := h.untilStopping(ctx)
	defer cancel()
	lines, err := h.service.ExportNamespace(ctx, api.ExportRequest{Name: name, Raw: raw})
	if err != nil {
		return err
	}
	defer lines.Close()
	setIndexHeader(w, meta)
	head(w, codec.LinesMedia)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	out := paced.NewWriter(w, writeTimeout)
	if _, err := io.CopyBuffer(&out, lines, make([]byte, copyPiece)); err != nil {
		h.log.Warn("an export broke off", "namespace", name, "err", err)
		panic(http.ErrAbortHandler) // half an export must not look like a whole one
	}
	return nil
}

// copyPiece is how many bytes of an export the handler holds.
const copyPiece = 64 << 10

// importNamespace is POST /v1/namespaces/{name}/import (SPEC M5). The body is read as fast as it is taken up, and never held in
// memory.
func (h *handler) importNamespace(w http.ResponseWriter, r *request) error {
	rehash := r.query.flag("rehash")
	name, err := namespacePath(r)
	if err != nil {
		return err
	}
	contentType := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != codec.LinesMedia {
		return unsupported(contentType, codec.LinesMedia)
	}
	conn := http.NewResponseController(w)
	body := &paced.Body{From: r.Body, Conn: conn, Patience: h.config.BodyTimeout}
	ctx, meta := api.WithMeta(r.Context()) // without a key, which would need the body in memory
	reply, err := waiting(ctx, h, func(ctx context.Context) (*api.ImportReply, error) {
		return h.service.ImportNamespace(ctx, api.ImportRequest{Name: name, Body: body, Rehash: rehash})
	})
	if body.Err != nil {
		w.Header().Set("Connection", "close")
		return api.NewError(api.CodeBadRequest, "the body could not be read: %v", body.Err)
	}
	if err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	return h.answer(w, http.StatusOK, meta, reply)
}
