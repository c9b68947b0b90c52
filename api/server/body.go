package server

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"golang.org/x/sync/semaphore"
)

// firstPiece is for how many bytes of a body there is room before any of them has come.
const firstPiece = 64 << 10

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
	body, release, err = h.receive(h.budget(r), http.MaxBytesReader(w, r.Body, limit), most)
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		if err := h.bodyRead(r, body); err != nil {
			release()
			return nil, nil, err
		}
		r.once.holds(body)
		return body, release, nil
	}
	// The deadline stays, because net/http reads on, so that the client gets to see the answer.
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, nil, bodyTooLarge(limit)
	}
	if api.CodeOf(err) == api.CodeOverloaded {
		return nil, nil, err
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

// receive reads r to its end, which comes after at most most bytes. It takes the budget as the bytes come, not as they are
// announced: clients that announce megabytes and send nothing must not keep others out (slowloris).
func (h *handler) receive(budget *semaphore.Weighted, r io.Reader, most int64) (body []byte, release func(), err error) {
	room := min(most, firstPiece) + 1 // a byte more, because the end is seen only while there is room
	if !budget.TryAcquire(room) {
		return nil, nil, tooManyBodies()
	}
	release = func() { budget.Release(room) }
	body = make([]byte, 0, room)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, release, nil
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		if len(body) < cap(body) {
			continue
		}
		if room > most {
			panic("a body is longer than its limit") // cannot happen: r is bounded
		}
		more := min(4*room, most+1)
		if !budget.TryAcquire(more) { // in addition to the old room: both are in memory while the bytes are copied
			release()
			return nil, nil, tooManyBodies()
		}
		body = append(make([]byte, 0, more), body...)
		release()
		room = more
	}
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
		if err != nil || media != codec.JSONMedia || charset != "" && !equalFold(charset, "utf-8") {
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
	r.once.namespace = query
	return query, nil
}

func equalFold(a, b string) bool { return bytes.EqualFold([]byte(a), []byte(b)) }

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
