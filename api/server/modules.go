package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

func (h *handler) listModules(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.namespace()
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		modules, err := h.service.Modules(ctx, ns)
		return codec.ModulesAnswer{Modules: notNil(modules)}, err
	})
}

func (h *handler) getModule(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, digest := q.namespace(), r.PathValue("digest")
	if err := api.CheckHex("digest", digest); err != nil {
		q.fail(err)
	}
	if err := q.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		m, err := h.service.Module(ctx, ns, digest)
		return codec.ModuleAnswer{Module: m}, err
	})
}

// push is POST /v1/modules: application/wasm with ?name= and ?manifest=, or multipart/form-data with the parts module,
// name and manifest (SPEC H1, B2).
func (h *handler) push(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.PushRequest{Namespace: q.namespace(), Name: q.text("name")}
	if m := q.text("manifest"); m != "" {
		req.Manifest = json.RawMessage(m)
	}
	if err := q.done(); err != nil {
		return err
	}
	contentType := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/wasm" && media != "multipart/form-data" {
		return unsupported(contentType, "application/wasm or multipart/form-data")
	}
	limit := int64(api.MaxModule)
	if media == "multipart/form-data" {
		limit += api.MaxManifest + 64<<10 // for the other parts and what stands between the parts
	}
	body, release, err := h.readBody(w, r, limit, 10*h.config.BodyTimeout)
	if err != nil {
		return err
	}
	defer release()
	if media == "multipart/form-data" {
		if body, err = readParts(body, params["boundary"], &req); err != nil {
			return err
		}
	}
	if err := req.Check(); err != nil {
		return err
	}
	req.Wasm, req.Size = bytes.NewReader(body), int64(len(body))
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		m, err := h.service.Push(ctx, req)
		return codec.ModuleAnswer{Module: m}, err
	})
}

// readParts takes a multipart body apart. It returns the file, and puts the other parts into req.
func readParts(body []byte, boundary string, req *api.PushRequest) (wasm []byte, err error) {
	reader := newParts(body, boundary)
	for {
		name, value, err := reader.next()
		switch {
		case errors.Is(err, io.EOF):
			if wasm == nil {
				return nil, api.FieldError(api.CodeInvalidField, "module", "is required")
			}
			return wasm, nil
		case err != nil:
			return nil, api.NewError(api.CodeBadRequest, "the multipart body cannot be read: %v", err)
		case name == "module" && wasm == nil:
			if len(value) > api.MaxModule {
				return nil, api.LimitError("module", api.MaxModule, "%d bytes, at most %d", len(value), api.MaxModule)
			}
			wasm = value
		case name == "manifest" && req.Manifest == nil:
			req.Manifest = value
		case name == "name" && req.Name == "":
			req.Name = string(value)
		case name == "module" || name == "manifest" || name == "name":
			return nil, api.FieldError(api.CodeInvalidField, name, "is given twice")
		default:
			return nil, api.FieldError(api.CodeUnknownField, name, "there is no such part")
		}
	}
}

// parts reads the parts of a multipart body that is in memory.
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
