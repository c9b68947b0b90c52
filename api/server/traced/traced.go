// Package traced finds the trace context of HTTP requests that make tasks due (SPEC U2).
package traced

import (
	"net/http"

	own "github.com/taskrt/taskrt/api/tracing"
)

// Tracer makes spans of requests. It must not block.
type Tracer interface {
	// Begin is told of a request with its trace context as tasks keep it, "" if it has none. It returns nil if no span is made. end is called with the status of the answer.
	Begin(route, parent string) (c *own.Call, end func(status int))
}

// Begin returns a request whose context knows its trace, and what is to be called when it was answered. t may be nil. The table of routes says which
// requests have a trace.
func Begin(r *http.Request, route string, t Tracer) (traced *http.Request, end func(status int)) {
	parent := own.Of(r.Header)
	var c *own.Call
	if t != nil {
		c, end = t.Begin(route, parent)
	}
	if c == nil && parent != "" {
		c = &own.Call{Parent: parent}
	}
	if c == nil {
		return r, end
	}
	return r.WithContext(own.With(r.Context(), c)), end
}
