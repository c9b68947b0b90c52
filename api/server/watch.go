package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// waitTasks is POST /v1/tasks:wait (SPEC W2).
func (h *handler) waitTasks(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, stale, minIndex := q.text("namespace"), q.stale(), q.number("min_index")
	if err := q.done(); err != nil {
		return err
	}
	var req api.WaitRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	release() // before the wait, which needs no body
	if req.Namespace, err = bodyNamespace(r, ns, req.Namespace); err != nil {
		return err
	}
	req.Stale, req.MinIndex = stale, minIndex
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := waiting(ctx, h, func(ctx context.Context) (*api.WaitReply, error) { return h.service.WaitTasks(ctx, req) })
	if err != nil {
		return err
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), append([]byte(`,"timed_out":`), codec.Encode(reply.TimedOut)...))
}

const (
	eventWriteTimeout = 30 * time.Second // a client that takes nothing for so long is cut off
	eventChunk        = 32 << 10         // bytes that are written at once if more than one event is ready
)

// events is GET /v1/events (SPEC W3).
func (h *handler) events(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.EventsRequest{
		Namespace: q.namespace(), Behavior: q.text("behavior"), IDs: q.texts("id"), Parent: q.text("parent"), Status: q.text("status"),
	}
	if err := q.done(); err != nil {
		return err
	}
	if last := r.Header.Get(codec.LastEventID); last != "" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return api.FieldError(api.CodeInvalidField, codec.LastEventID, "must be a whole number: the id of an event")
		}
		req.HasAfter, req.After = true, n
	}
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := r.call()
	ctx, cancel := h.untilStopping(ctx)
	defer cancel()
	stream, err := h.service.Events(ctx, req)
	if err != nil {
		return err
	}
	defer stream.Close()
	setIndexHeader(w, meta)
	head(w, codec.EventMedia)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx would keep events back
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	newEventWriter(w, stream, req).run(ctx)
	return nil
}

// eventWriter writes a stream as Server-Sent Events.
type eventWriter struct {
	w      http.ResponseWriter
	conn   *http.ResponseController
	stream api.EventStream
	ready  func() (api.Event, bool) // returns the next event if there is one now
	told   uint64                   // the id that the client has
	buf    bytes.Buffer
}

func newEventWriter(w http.ResponseWriter, s api.EventStream, r api.EventsRequest) *eventWriter {
	e := &eventWriter{w: w, conn: http.NewResponseController(w), stream: s, told: r.After, ready: func() (api.Event, bool) { return api.Event{}, false }}
	if s, ok := s.(interface{ Try() (api.Event, bool) }); ok {
		e.ready = s.Try
	}
	return e
}

// run writes until the client has gone, ctx ends, or the stream ends. It has no way to tell the client why; the client goes on
// elsewhere.
func (e *eventWriter) run(ctx context.Context) {
	e.beat()
	for e.flush() == nil {
		period, cancel := context.WithTimeout(ctx, codec.EventHeartbeat)
		err := e.write(period)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return
		}
		e.beat()
	}
}

// write writes events until ctx ends, or something fails.
func (e *eventWriter) write(ctx context.Context) error {
	for {
		next, err := e.stream.Next(ctx)
		if err != nil {
			return err
		}
		e.add(next)
		for e.buf.Len() < eventChunk {
			next, ok := e.ready()
			if !ok {
				break
			}
			e.add(next)
		}
		if err := e.flush(); err != nil {
			return err
		}
	}
}

// add appends an event. A reset without a rev takes back the id that the client has: until the last of the states the client
// has nothing from which to go on.
func (e *eventWriter) add(next api.Event) {
	b := &e.buf
	b.WriteString("event: ")
	b.WriteString(next.Kind)
	if next.Rev > 0 || next.Kind == api.EventReset {
		e.id(next.Rev)
	}
	b.WriteString("\ndata: ")
	b.Write(bytes.ReplaceAll(next.Data, []byte("\n"), []byte("\ndata: ")))
	b.WriteString("\n\n")
}

func (e *eventWriter) id(rev uint64) {
	e.buf.WriteString("\nid: ")
	e.buf.WriteString(strconv.FormatUint(rev, 10))
	e.told = rev
}

// beat appends a comment, and the id from which to go on, if the id has moved without an event.
func (e *eventWriter) beat() {
	e.buf.WriteByte(':')
	if p := e.stream.Position(); p > e.told {
		e.id(p)
	}
	e.buf.WriteString("\n\n")
}

// flush sends what was appended. A client that reads nothing blocks flush until the deadline.
func (e *eventWriter) flush() error {
	_ = e.conn.SetWriteDeadline(time.Now().Add(eventWriteTimeout))
	_, err := e.w.Write(e.buf.Bytes())
	e.buf.Reset()
	if e.buf.Cap() > 4*eventChunk {
		e.buf = bytes.Buffer{} // after one large event the buffer must not stay large
	}
	if err != nil {
		return err
	}
	return e.conn.Flush()
}
