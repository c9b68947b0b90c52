package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// firstPiece is how much of a body gets room before any of it has come.
const firstPiece = 64 << 10

// readBody reads a body of at most limit bytes. What it holds counts against the handler's budget until release is
// called; a request over the budget is 429.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) (body []byte, release func(), err error) {
	if r.ContentLength > limit {
		return nil, nil, bodyTooLarge(limit)
	}
	most := limit
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	body, release, err = h.receive(h.budget(w), http.MaxBytesReader(w, r.Body, limit), most)
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{})
		if err := h.bodyRead(w, body); err != nil {
			release()
			return nil, nil, err
		}
		keyedOf(r.Context()).body = body
		return body, release, nil
	}
	// The deadline stays: net/http reads on, so that the client gets to see the answer.
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, nil, bodyTooLarge(limit)
	}
	if CodeOf(err) == CodeOverloaded {
		return nil, nil, err
	}
	w.Header().Set("Connection", "close")
	return nil, nil, NewError(CodeBadRequest, "the body could not be read: %v", err)
}

// budget is what a body counts against.
func (h *handler) budget(w http.ResponseWriter) *semaphore.Weighted {
	if rec, is := w.(*recorder); is && rec.route != nil && rec.route.adds {
		return h.added
	}
	return h.bodies
}

// receive reads at most most bytes to the end. The budget is taken as they come, not as they are announced: clients that
// announce megabytes and send nothing must not keep others out (slowloris).
func (h *handler) receive(budget *semaphore.Weighted, r io.Reader, most int64) (body []byte, release func(), err error) {
	room := min(most, firstPiece) + 1 // one more, in which the end is seen
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
			panic("a body is longer than its limit") // r is bounded
		}
		more := min(4*room, most+1)
		if !budget.TryAcquire(more) { // beside the old room: both are there while it is copied
			release()
			return nil, nil, tooManyBodies()
		}
		body = append(make([]byte, 0, more), body...)
		release()
		room = more
	}
}

func tooManyBodies() *Error { return NewError(CodeOverloaded, "too many bodies are being received") }

func bodyTooLarge(limit int64) *Error {
	e := NewError(CodeTooLarge, "the body is larger than %d bytes", limit)
	e.Limit = limit
	return e
}

// readJSON reads a JSON body. A Content-Type that is not JSON is refused: browsers send forms and text to other sites'
// servers without asking, and there is nothing else that keeps them out of a server on loopback.
func (h *handler) readJSON(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	if t := r.Header.Get("Content-Type"); t != "" && t != jsonMedia {
		media, params, err := mime.ParseMediaType(t)
		charset := params["charset"]
		if err != nil || media != "application/json" || charset != "" && !equalFold(charset, "utf-8") {
			return nil, nil, unsupported(t, "application/json")
		}
	}
	return h.readBody(w, r, MaxBody, h.config.BodyTimeout)
}

// notCrossOrigin refuses what a browser sends for a page of another site. Routes that take a body of any type need it: such a
// page may post text to any server without asking.
func notCrossOrigin(r *http.Request) error {
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return NewError(CodeCrossOrigin, "a page of another site must not do this: %v", err)
	}
	return nil
}

func equalFold(a, b string) bool { return bytes.EqualFold([]byte(a), []byte(b)) }

func unsupported(got, want string) *Error {
	return FieldError(CodeUnsupportedMedia, "Content-Type", "%.100q cannot be read here; send %s", got, want)
}

// noBody accepts no body, or an empty object, which some clients send with every POST.
func (h *handler) noBody(w http.ResponseWriter, r *http.Request) error {
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
	if bad := decodeStrict(body, &struct{}{}); bad != nil {
		return bad
	}
	return nil
}

// push is POST /v1/modules: application/wasm with ?name= and ?manifest=, or multipart/form-data with the parts module,
// name and manifest (SPEC H1, B2).
func (h *handler) push(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	req := PushRequest{Namespace: q.namespace(), Name: q.text("name")}
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
	limit := int64(MaxModule)
	if media == "multipart/form-data" {
		limit += MaxManifest + 64<<10 // the other parts and what stands between them
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
	if err := req.check(); err != nil {
		return err
	}
	req.Wasm, req.Size = bytes.NewReader(body), int64(len(body))
	ctx, meta := WithMeta(r.Context())
	m, err := h.service.Push(ctx, req)
	if err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, meta, moduleAnswer{m})
}

// MaxManifest bounds a manifest that is given beside the file, in bytes.
const MaxManifest = 1 << 20

// check tells what is wrong with a push besides its file.
func (r *PushRequest) check() error {
	if r.Name != "" {
		if err := CheckBehaviorName("name", r.Name); err != nil {
			return err
		}
	}
	if len(r.Manifest) > MaxManifest {
		return LimitError("manifest", MaxManifest, "%d bytes, at most %d", len(r.Manifest), MaxManifest)
	}
	if r.Manifest != nil {
		if err := checkJSON(r.Manifest); err != nil {
			err.Field = "manifest"
			return err
		}
	}
	return nil
}

// readParts takes a multipart body apart: the file is returned, the rest goes into req.
func readParts(body []byte, boundary string, req *PushRequest) (wasm []byte, err error) {
	reader := newParts(body, boundary)
	for {
		name, value, err := reader.next()
		switch {
		case errors.Is(err, io.EOF):
			if wasm == nil {
				return nil, FieldError(CodeInvalidField, "module", "is required")
			}
			return wasm, nil
		case err != nil:
			return nil, NewError(CodeBadRequest, "the multipart body cannot be read: %v", err)
		case name == "module" && wasm == nil:
			if len(value) > MaxModule {
				return nil, LimitError("module", MaxModule, "%d bytes, at most %d", len(value), MaxModule)
			}
			wasm = value
		case name == "manifest" && req.Manifest == nil:
			req.Manifest = value
		case name == "name" && req.Name == "":
			req.Name = string(value)
		case name == "module" || name == "manifest" || name == "name":
			return nil, FieldError(CodeInvalidField, name, "is given twice")
		default:
			return nil, FieldError(CodeUnknownField, name, "there is no such part")
		}
	}
}
