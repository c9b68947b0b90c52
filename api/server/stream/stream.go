// Package stream writes events to HTTP clients as Server-Sent Events.
package stream

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

const (
	writeTimeout = 30 * time.Second // a client that takes nothing for so long is cut off
	chunk        = 32 << 10         // bytes that are written at once if more than one event is ready
)

// Write writes a stream until the client has gone, ctx ends, or the stream ends. The client has the events up to after. It has no way to tell
// the client why it ends; the client goes on elsewhere.
func Write(ctx context.Context, w http.ResponseWriter, s api.EventStream, after uint64) {
	newWriter(w, s, after).run(ctx)
}

// writer writes a stream as Server-Sent Events.
type writer struct {
	w      http.ResponseWriter
	conn   *http.ResponseController
	stream api.EventStream
	ready  func() (api.Event, bool) // returns the next event if there is one now
	told   uint64                   // the id that the client has
	buf    bytes.Buffer
}

func newWriter(w http.ResponseWriter, s api.EventStream, after uint64) *writer {
	e := &writer{w: w, conn: http.NewResponseController(w), stream: s, told: after, ready: func() (api.Event, bool) { return api.Event{}, false }}
	if s, ok := s.(interface{ Try() (api.Event, bool) }); ok {
		e.ready = s.Try
	}
	return e
}

// run writes until the client has gone, ctx ends, or the stream ends. It has no way to tell the client why; the client goes on
// elsewhere.
func (e *writer) run(ctx context.Context) {
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
func (e *writer) write(ctx context.Context) error {
	for {
		next, err := e.stream.Next(ctx)
		if err != nil {
			return err
		}
		e.add(next)
		for e.buf.Len() < chunk {
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
func (e *writer) add(next api.Event) {
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

func (e *writer) id(rev uint64) {
	e.buf.WriteString("\nid: ")
	e.buf.WriteString(strconv.FormatUint(rev, 10))
	e.told = rev
}

// beat appends a comment, and the id from which to go on, if the id has moved without an event.
func (e *writer) beat() {
	e.buf.WriteByte(':')
	if p := e.stream.Position(); p > e.told {
		e.id(p)
	}
	e.buf.WriteString("\n\n")
}

// flush sends what was appended. A client that reads nothing blocks flush until the deadline.
func (e *writer) flush() error {
	_ = e.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := e.w.Write(e.buf.Bytes())
	e.buf.Reset()
	if e.buf.Cap() > 4*chunk {
		e.buf = bytes.Buffer{} // after one large event the buffer must not stay large
	}
	if err != nil {
		return err
	}
	return e.conn.Flush()
}

// LastEvent reads after which event a stream goes on. Without the header nothing changes.
func LastEvent(h http.Header, after *uint64, has *bool) error {
	last := h.Get(codec.LastEventID)
	if last == "" {
		return nil
	}
	n, err := strconv.ParseUint(last, 10, 63)
	if err != nil {
		return api.FieldError(api.CodeInvalidField, codec.LastEventID, "must be a whole number: the id of an event")
	}
	*after, *has = n, true
	return nil
}
