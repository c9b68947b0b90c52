package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

const (
	// eventSilence is how long a stream may send nothing, not even a heartbeat, before another node is asked.
	eventSilence = 3 * codec.EventHeartbeat
	maxEventLine = 16 << 20 // bytes; a record with all its payloads has far fewer
	eventBuffer  = 16       // events that wait for the caller
)

// Events implements Service. A stream that breaks goes on at another node, from where it broke off. No event is missed or
// repeated, except that the states after a reset may begin anew. After Config.RetryFor without an answer the client gives up,
// and Next returns the error.
func (c *Client) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return follow(ctx, &eventStream{client: c, path: "/v1/events", query: eventsQuery(&r), last: r.After, known: r.HasAfter, position: r.After})
}

// follow begins a stream, whose client, path, query and beginning are given.
func follow(ctx context.Context, s *eventStream) (api.EventStream, error) {
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.events, s.done = make(chan api.Event, eventBuffer), make(chan struct{})
	cancel := s.cancel
	stop := context.AfterFunc(ctx, cancel) // until the first answer
	body, err := s.connect()
	if !stop() && err == nil {
		body.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	go s.run(body)
	return s, nil
}

// eventStream is a stream over HTTP. Its goroutine reads, and reconnects.
type eventStream struct {
	client *Client
	path   string
	query  url.Values
	ctx    context.Context
	cancel context.CancelFunc
	events chan api.Event
	done   chan struct{}
	err    error // why it ended; set before done is closed

	// Only the goroutine uses these.
	last  uint64 // the rev from which to go on
	known bool   // whether last is known

	position uint64 // only the caller uses it
}

// Next implements EventStream.
func (s *eventStream) Next(ctx context.Context) (api.Event, error) {
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

// Position implements EventStream.
func (s *eventStream) Position() uint64 { return s.position }

// Close implements EventStream.
func (s *eventStream) Close() {
	s.cancel()
	<-s.done
}

func (s *eventStream) run(body io.ReadCloser) {
	defer close(s.done)
	defer close(s.events)
	for {
		s.read(body)
		body.Close()
		if s.err = s.ctx.Err(); s.err == nil {
			body, s.err = s.connect()
		}
		if s.err != nil {
			return
		}
	}
}

// connect asks one node after the other until a node answers with a stream.
func (s *eventStream) connect() (body io.ReadCloser, err error) {
	err = s.client.stream(s.ctx, true, func(base *url.URL) (sent bool, err error) {
		body, err = s.open(base)
		return false, err
	})
	return body, err
}

func (s *eventStream) open(base *url.URL) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	silence := time.AfterFunc(s.client.config.AttemptTimeout, cancel)
	end := func() { silence.Stop(); cancel() }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+s.path+"?"+s.query.Encode(), nil)
	if err != nil {
		end()
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", codec.EventMedia)
	if s.known {
		req.Header.Set(codec.LastEventID, strconv.FormatUint(s.last, 10))
	}
	res, err := s.client.send(req)
	if err != nil {
		end()
		return nil, unreachable(err, "no server answers at %s", base)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && media == codec.EventMedia {
		return &liveBody{res.Body, silence, end}, nil
	}
	defer end()
	return nil, problemOf(res)
}

func eventsQuery(r *api.EventsRequest) url.Values {
	q := inNamespace(r.Namespace)
	setText(q, "behavior", r.Behavior)
	setText(q, "parent", r.Parent)
	setText(q, "status", r.Status)
	for _, id := range r.IDs {
		q.Add("id", id)
	}
	return q
}

// liveBody is the body of a stream. It is given up if nothing comes for a while.
type liveBody struct {
	io.ReadCloser
	silence *time.Timer
	end     func()
}

func (b *liveBody) Read(p []byte) (int, error) {
	b.silence.Reset(eventSilence)
	return b.ReadCloser.Read(p)
}

func (b *liveBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// read hands events on until the connection ends. It hands on an event only when the event is whole.
func (s *eventStream) read(body io.Reader) {
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
			s.last, s.known = e.Rev, true
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
