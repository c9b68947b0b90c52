// Package events reads Server-Sent Events as a stream of the API: it goes on after a connection that breaks, and misses or repeats nothing.
package events

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strconv"

	"github.com/taskrt/taskrt/api"
)

const (
	maxEventLine = 16 << 20 // bytes; a record with all its payloads has far fewer
	eventBuffer  = 16       // events that wait for the caller
)

// Place says from where a stream is to go on.
type Place struct {
	Last  uint64 // the rev of the last event
	Known bool   // whether there is one
}

// Connect connects to whichever node answers.
type Connect func(ctx context.Context, from Place) (io.ReadCloser, error)

// Stream is a stream over HTTP. Its goroutine reads, and reconnects.
type Stream struct {
	connect Connect
	ctx     context.Context
	cancel  context.CancelFunc
	events  chan api.Event
	done    chan struct{}
	err     error // why it ended; set before done is closed

	from     Place  // only the goroutine uses it
	position uint64 // only the caller uses it
}

// Follow begins a stream. ctx bounds the time until the first answer.
func Follow(ctx context.Context, from Place, connect Connect) (*Stream, error) {
	s := &Stream{connect: connect, from: from, position: from.Last}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.events, s.done = make(chan api.Event, eventBuffer), make(chan struct{})
	stop := context.AfterFunc(ctx, s.cancel)
	body, err := connect(s.ctx, s.from)
	if !stop() && err == nil {
		body.Close()
		err = ctx.Err()
	}
	if err != nil {
		s.cancel()
		return nil, err
	}
	go s.run(body)
	return s, nil
}

// Next implements api.EventStream.
func (s *Stream) Next(ctx context.Context) (api.Event, error) {
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return api.Event{}, s.err
			}
			if e.Rev > 0 || e.Kind == api.EventReset {
				s.position = e.Rev
			}
			if e.Kind != "" {
				return e, nil
			}
		case <-ctx.Done():
			return api.Event{}, ctx.Err()
		}
	}
}

// Position implements api.EventStream.
func (s *Stream) Position() uint64 { return s.position }

// Close implements api.EventStream.
func (s *Stream) Close() {
	s.cancel()
	<-s.done
}

func (s *Stream) run(body io.ReadCloser) {
	defer close(s.done)
	defer close(s.events)
	for {
		s.read(body)
		body.Close()
		if s.err = s.ctx.Err(); s.err == nil {
			body, s.err = s.connect(s.ctx, s.from)
		}
		if s.err != nil {
			return
		}
	}
}

// read hands events on until the connection ends. It hands on an event only when the event is whole.
func (s *Stream) read(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEventLine)
	var e api.Event
	hasID := false
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) > 0 {
			hasID = takeField(&e, line) || hasID
			continue
		}
		if hasID {
			s.from = Place{Last: e.Rev, Known: true}
		}
		if e.Kind != "" || hasID {
			select {
			case s.events <- e:
			case <-s.ctx.Done():
				return
			}
		}
		e, hasID = api.Event{}, false
	}
}

// takeField takes in a line of an event. It reports whether the line was the id.
func takeField(e *api.Event, line []byte) (id bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Kind = string(value)
	case "data":
		if e.Data != nil {
			e.Data = append(e.Data, '\n')
		}
		e.Data = append(e.Data, value...)
	case "id":
		n, err := strconv.ParseUint(string(value), 10, 64)
		e.Rev = n
		return err == nil
	}
	return false
}
