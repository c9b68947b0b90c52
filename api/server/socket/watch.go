package socket

import (
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/stream"
)

// Carried is what of a route a stream can carry.
type Carried struct {
	JSON   bool // its body, and an answer
	Events bool // an answer
}

// Check refuses a request over a stream that a stream cannot carry.
func Check(r *http.Request, route Carried) error {
	if !Over(r.Context()) {
		return nil
	}
	switch watch := codec.TakesEvents(r.Header.Values("Accept")); {
	case watch && !route.Events:
		return api.FieldError(api.CodeBadRequest, "watch", "%s %.200s has no events", r.Method, r.URL.Path)
	case !watch && !route.JSON && route.Events:
		return api.FieldError(api.CodeBadRequest, "watch", "%s %.200s answers with events: say watch", r.Method, r.URL.Path)
	case !watch && !route.JSON:
		return api.NewError(api.CodeBadRequest, "%s %.200s is not possible over a stream; use HTTP", r.Method, r.URL.Path)
	}
	return nil
}

// events are what a part of a watch's answer has.
type events struct {
	list []stream.Event
	size int // of their data, in bytes
}

// size is about how many bytes an answer takes.
func (a *answer) size() int {
	if a.events != nil {
		return a.events.size
	}
	return len(a.body)
}

// WriteEvents sends events as a part of the answer, and returns when they have been written: so a watch whose client is slow holds one part, and
// has one turn among the answers that are ready. The first part may have none: it says that the watch has begun.
func (a *answer) WriteEvents(list []stream.Event) error {
	part := &answer{conn: a.conn, n: a.n, status: http.StatusOK, header: http.Header{}, events: &events{list: list}, sent: make(chan struct{})}
	for _, e := range list {
		part.events.size += len(e.Data)
	}
	if !a.begun {
		part.header[codec.IndexHeader] = a.header[codec.IndexHeader]
		a.begun = true
	}
	if part.events.size > small {
		select {
		case a.conn.large <- struct{}{}:
			part.large = true
		case <-a.ctx.Done():
			return a.ctx.Err()
		}
	}
	a.conn.mu.Lock()
	a.conn.put(part)
	a.conn.mu.Unlock()
	select {
	case <-part.sent:
		return nil
	case <-a.conn.ctx.Done():
		return a.conn.ctx.Err()
	}
}
