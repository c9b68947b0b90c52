package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/api/tracing"
)

// small is how many bytes an answer may have without waiting for another large one of its connection.
const small = 64 << 10

// answer gathers the answer to one request. It implements what http.ResponseController asks for, as a connection would.
type answer struct {
	conn   *conn
	n      uint64
	ctx    context.Context
	header http.Header
	status int
	body   []byte
	large  bool
	done   bool
	sent   chan struct{} // if not nil, closed when the answer has been written
	events *events       // of a part of a watch's answer; nil: it is a whole answer, or the end of one
	begun  bool          // a part of it has gone
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps bytes. Only one answer of a connection may be large at a time: the next one waits here until it has been written.
func (a *answer) Write(b []byte) (int, error) {
	if a.done {
		return 0, errors.New("the answer has gone")
	}
	a.WriteHeader(http.StatusOK)
	if !a.large && len(a.body)+len(b) > small {
		select {
		case a.conn.large <- struct{}{}:
			a.large = true
		case <-a.conn.ctx.Done():
			return 0, a.conn.ctx.Err()
		}
	}
	a.body = append(a.body, b...)
	return len(b), nil
}

// FlushError returns when the whole answer has been written. Nothing can be written after it.
func (a *answer) FlushError() error {
	a.sent = make(chan struct{})
	a.finish()
	select {
	case <-a.sent:
		return nil
	case <-a.conn.silent: // not when the connection ends: a client that has the answer may hang up before the writer knows that it has written
	}
	select {
	case <-a.sent:
		return nil
	default:
		return a.conn.ctx.Err()
	}
}

// SetReadDeadline does nothing: the body is here.
func (a *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing: the connection has its own deadlines.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

// finish hands the answer over, once.
func (a *answer) finish() {
	if a.done {
		return
	}
	a.done = true
	a.conn.finished(a)
}

// reset forgets what has been gathered.
func (a *answer) reset() {
	if !a.done {
		a.status, a.body = 0, nil
		clear(a.header)
	}
}

// frame is the answer as it travels.
func (a *answer) frame() stream.Answer {
	a.WriteHeader(http.StatusOK)
	index, _ := strconv.ParseUint(a.header.Get(codec.IndexHeader), 10, 64)
	f := stream.Answer{N: a.n, Status: a.status, Index: index, Body: bytes.TrimSuffix(a.body, []byte("\n"))}
	if a.events != nil {
		f.More, f.Events = true, a.events.list
	}
	return f
}

// written makes room for another large answer, and wakes the goroutines that wait for it.
func (a *answer) written() {
	if a.large {
		<-a.conn.large
	}
	if a.sent != nil {
		close(a.sent)
	}
}

// templateOf keeps of the handshake what every request of the connection has from it: who asks, from where, and which cluster is meant.
func templateOf(r *http.Request) *http.Request {
	t := &http.Request{
		Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, Host: r.Host, RemoteAddr: r.RemoteAddr, TLS: r.TLS,
		URL: r.URL, Method: r.Method, Header: http.Header{}, Body: http.NoBody,
	}
	for _, name := range []string{"Authorization", http.CanonicalHeaderKey(codec.ClusterHeader)} {
		if v := r.Header[name]; v != nil {
			t.Header[name] = v
		}
	}
	return t
}

type overStream struct{} // the request's answer

// Over reports whether a request came over a stream. Its answer must be JSON, and whole.
func Over(ctx context.Context) bool { return ctx.Value(overStream{}) != nil }

// request makes the request that HTTP would have made.
func (c *conn) request(ctx context.Context, q *stream.Request) (*http.Request, error) {
	switch q.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return nil, api.FieldError(api.CodeInvalidField, "method", "must be GET, POST, PUT, PATCH or DELETE")
	}
	if q.After != nil && !q.Watch {
		return nil, api.FieldError(api.CodeInvalidField, "after", "goes with watch")
	}
	u, err := url.ParseRequestURI(q.Path)
	if err != nil || !strings.HasPrefix(q.Path, "/v1/") {
		return nil, api.FieldError(api.CodeInvalidField, "path", "must be a path below /v1/, with its query")
	}
	r := c.template.WithContext(ctx)
	r.Method, r.URL, r.RequestURI, r.ContentLength = q.Method, u, q.Path, int64(len(q.Body))
	r.Header = make(http.Header, len(c.template.Header)+4)
	for name, v := range c.template.Header {
		r.Header[name] = v
	}
	for name, v := range map[string]string{api.KeyHeader: q.Key, codec.PreferHeader: q.Prefer, tracing.Header: q.Trace, tracing.StateHeader: q.State} {
		if v != "" {
			r.Header[http.CanonicalHeaderKey(name)] = []string{v}
		}
	}
	if q.Watch {
		r.Header["Accept"] = []string{codec.EventMedia}
	}
	if q.After != nil {
		r.Header[http.CanonicalHeaderKey(codec.LastEventID)] = []string{strconv.FormatUint(*q.After, 10)}
	}
	r.Body = c.bodyOf(q)
	return r, nil
}

// bodyOf takes the body of a request out of it. It counts against the budget until it is closed.
func (c *conn) bodyOf(q *stream.Request) io.ReadCloser {
	text := q.Body
	q.Body = nil
	return &body{text: text, release: func() { c.config.Budget.Release(int64(len(text))) }}
}

// body is the body of a request. At its end it is given back: a request that waits keeps none.
type body struct {
	text    []byte
	release func()
}

func (b *body) Read(p []byte) (int, error) {
	n := copy(p, b.text)
	if b.text = b.text[n:]; len(b.text) == 0 {
		_ = b.Close()
		return n, io.EOF
	}
	return n, nil
}

func (b *body) Close() error {
	if b.release != nil {
		b.release()
		b.text, b.release = nil, nil
	}
	return nil
}
