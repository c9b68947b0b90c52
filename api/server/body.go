package server

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/paced"
)

// readBody reads a body of at most limit bytes. The bytes count against the handler's budget until release is called. A request
// beyond the budget is refused with 429.
func (h *handler) readBody(w http.ResponseWriter, r *request, limit int64, timeout time.Duration) (body []byte, release func(), err error) {
	if r.ContentLength > limit {
		return nil, nil, bodyTooLarge(limit)
	}
	most := limit
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	body, release, err = paced.Receive(h.budget(r), http.MaxBytesReader(w, r.Body, limit), most, nil)
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		if err := h.bodyRead(r, body); err != nil {
			release()
			return nil, nil, err
		}
		r.once.Holds(body)
		return body, release, nil
	}
	// The deadline stays, because net/http reads on, so that the client gets to see the answer.
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, nil, bodyTooLarge(limit)
	}
	if errors.Is(err, paced.ErrBudget) {
		return nil, nil, tooManyBodies()
	}
	w.Header().Set("Connection", "close")
	return nil, nil, api.NewError(api.CodeBadRequest, "the body could not be read: %v", err)
}

// budget returns the budget against which the body of a request counts.
func (h *handler) budget(r *request) *semaphore.Weighted {
	if r.route.adds {
		return h.added
	}
	return h.bodies
}

func tooManyBodies() *api.Error {
	return api.NewError(api.CodeOverloaded, "too many bodies are being received")
}

func bodyTooLarge(limit int64) *api.Error {
	return api.LimitError("", limit, "the body is larger than %d bytes", limit)
}

// readJSON reads a JSON body. It refuses a Content-Type that is not JSON: browsers send forms and text to the servers of other
// sites without asking. This is a second wall behind pages.Door.
func (h *handler) readJSON(w http.ResponseWriter, r *request) (body []byte, release func(), err error) {
	if t := r.Header.Get("Content-Type"); t != "" && t != codec.JSONMedia {
		media, params, err := mime.ParseMediaType(t)
		charset := params["charset"]
		if err != nil || media != codec.JSONMedia || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, nil, unsupported(t, codec.JSONMedia)
		}
	}
	return h.readBody(w, r, api.MaxBody, h.config.BodyTimeout)
}

// readObject decodes a JSON body into the struct at dst. With optional the body may be absent.
func (h *handler) readObject(w http.ResponseWriter, r *request, dst any, optional bool) (release func(), err error) {
	if optional && r.ContentLength == 0 {
		return func() {}, nil
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return nil, err
	}
	if optional && len(bytes.TrimSpace(body)) == 0 {
		return release, nil
	}
	if bad := codec.Strict.Decode(body, dst); bad != nil {
		release()
		return nil, bad
	}
	return release, nil
}

// bodyNamespace returns the namespace of a request that may name it in the query string, in its body, or in both.
func bodyNamespace(r *request, query, body string) (string, error) {
	if query != "" && body != "" && query != body {
		return "", api.FieldError(api.CodeInvalidField, "namespace", "differs from the query parameter")
	}
	if query == "" {
		query = body
	}
	if err := api.CheckNamespace(&query); err != nil {
		return "", err
	}
	r.once.Namespace = query
	return query, nil
}

func unsupported(got, want string) *api.Error {
	return api.FieldError(api.CodeUnsupportedMedia, "Content-Type", "%.100q cannot be read here; send %s", got, want)
}

// noBody accepts no body, or an empty object, which some clients send with every POST.
func (h *handler) noBody(w http.ResponseWriter, r *request) error {
	if r.ContentLength == 0 {
		return nil
	}
	const most = 64 << 10
	body, release, err := h.readBody(w, r, most, h.config.BodyTimeout)
	if err != nil {
		return err
	}
	defer release()
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	if bad := codec.Strict.Decode(body, &struct{}{}); bad != nil {
		return bad
	}
	return nil
}
