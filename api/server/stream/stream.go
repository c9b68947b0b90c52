// Package stream writes events to clients: over HTTP as Server-Sent Events, over a stream (SPEC H5) as parts of an answer.
package stream

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

const chunk = 32 << 10 // bytes that are written at once if more than one event is ready

// Write writes events until the client has gone, ctx ends, or the events end, and returns why. The client has the events up to after.
func Write(ctx context.Context, w http.ResponseWriter, s api.EventStream, after uint64) error {
	return newWriter(formOf(w), s, after).run(ctx)
}

// form is how events travel.
type form interface {
	// add appends an event. id is where to go on after it; nil: where it was.
	add(e api.Event, id *uint64)
	// beat appends that the stream is alive, and, if it is not nil, the place from which to go on.
	beat(id *uint64)
	// size is about how many bytes have been appended.
	size() int
	// flush sends what was appended. A client that reads nothing blocks it until it is cut off.
	flush() error
}

// formOf returns how events travel to a client.
func formOf(w http.ResponseWriter) form {
	for next := w; ; {
		switch x := next.(type) {
		case parts:
			return &messages{to: x}
		case interface{ Unwrap() http.ResponseWriter }:
			next = x.Unwrap()
		default:
			return &text{w: w, conn: http.NewResponseController(w)}
		}
	}
}

// writer writes events in a form.
type writer struct {
	form   form
	stream api.EventStream
	ready  func() (api.Event, bool) // returns the next event if there is one now
	told   uint64                   // the id that the client has
}

func newWriter(f form, s api.EventStream, after uint64) *writer {
	e := &writer{form: f, stream: s, told: after, ready: func() (api.Event, bool) { return api.Event{}, false }}
	if s, ok := s.(interface{ Try() (api.Event, bool) }); ok {
		e.ready = s.Try
	}
	return e
}

// run writes until the client has gone, ctx ends, or the events end, and returns why.
func (e *writer) run(ctx context.Context) error {
	e.beat()
	for {
		if err := e.form.flush(); err != nil {
			return err
		}
		period, cancel := context.WithTimeout(ctx, codec.EventHeartbeat)
		err := e.write(period)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
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
		for e.form.size() < chunk {
			next, ok := e.ready()
			if !ok {
				break
			}
			e.add(next)
		}
		if err := e.form.flush(); err != nil {
			return err
		}
	}
}

// add appends an event. A reset without a rev takes back the id that the client has: until the last of the states the client
// has nothing from which to go on.
func (e *writer) add(next api.Event) {
	if next.Rev == 0 && next.Kind != api.EventReset {
		e.form.add(next, nil)
		return
	}
	e.told = next.Rev
	e.form.add(next, &next.Rev)
}

// beat appends that the stream is alive, and the id from which to go on, if the id has moved without an event.
func (e *writer) beat() {
	p := e.stream.Position()
	if p <= e.told {
		e.form.beat(nil)
		return
	}
	e.told = p
	e.form.beat(&p)
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
