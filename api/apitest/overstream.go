package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/stream"
)

// pending is a request without an answer, or a watch.
type pending struct {
	answer chan stream.Answer // of the end
	parts  chan stream.Answer // nil: it is no watch
}

// Stream is the other end of a stream (SPEC H5), written by its description. As a RoundTripper it carries the requests of a client of HTTP, except
// those that a stream does not take, which go by HTTP.
type Stream struct {
	t        testing.TB
	ws       *websocket.Conn
	form     stream.Form
	Streamed atomic.Int64 // requests that went over the stream
	Watched  atomic.Int64 // watches among them
	Plain    atomic.Int64 // requests that did not

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*pending
	ended   error
	done    chan struct{}
}

// DialStream begins a stream at a server, by a client of HTTP; nil: by the usual one. It ends with the test.
func DialStream(t testing.TB, by *http.Client, url string, form stream.Form, header http.Header) *Stream {
	t.Helper()
	options := &websocket.DialOptions{HTTPClient: by, Subprotocols: []string{form.Subprotocol()}, HTTPHeader: header}
	ws, res, err := websocket.Dial(t.Context(), url+stream.Path, options) //nolint:bodyclose // the library has closed it
	if err != nil {
		t.Fatalf("dial: %v, %+v", err, res)
	}
	ws.SetReadLimit(-1)
	s := &Stream{t: t, ws: ws, form: form, waiting: map[uint64]*pending{}, done: make(chan struct{})}
	go s.read()
	t.Cleanup(s.Close)
	return s
}

// Close ends the stream.
func (s *Stream) Close() {
	_ = s.ws.CloseNow()
	<-s.done
}

// Ended returns when the server has ended the stream, and how. It waits ten minutes at most, which are virtual in a bubble.
func (s *Stream) Ended() error {
	select {
	case <-s.done:
		return s.ended
	case <-time.After(10 * time.Minute):
		return errors.New("the stream has not ended")
	}
}

func (s *Stream) read() {
	defer close(s.done)
	for {
		_, text, err := s.ws.Read(context.Background())
		s.mu.Lock()
		if err != nil {
			s.ended = err
			for _, c := range s.waiting {
				c.end()
			}
			s.waiting = nil
			s.mu.Unlock()
			return
		}
		var m stream.Answers
		if s.form.Binary() {
			err = cbor.Unmarshal(text, &m)
		} else {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			s.t.Errorf("a message of the server: %v", err)
		}
		for _, a := range m.Answers {
			c := s.waiting[a.N]
			if c == nil {
				s.t.Errorf("nobody asked for %d", a.N)
				continue
			}
			switch {
			case !a.More:
			case c.parts == nil:
				s.t.Errorf("%d is no watch, and got a part of an answer", a.N)
				continue
			default:
				c.parts <- a
				continue
			}
			delete(s.waiting, a.N)
			c.answer <- a
			c.end()
		}
		s.mu.Unlock()
	}
}

// end says that nothing comes any more.
func (p *pending) end() {
	close(p.answer)
	if p.parts != nil {
		close(p.parts)
	}
}

// Send sends requests as one message, and returns where their answers come: nothing comes if the stream ends before. It numbers them.
func (s *Stream) Send(requests ...stream.Request) ([]<-chan stream.Answer, error) {
	answers, _, err := s.send(requests)
	return answers, err
}

func (s *Stream) send(requests []stream.Request) (answers []<-chan stream.Answer, all []*pending, err error) {
	s.mu.Lock()
	answers, all = make([]<-chan stream.Answer, len(requests)), make([]*pending, len(requests))
	for i := range requests {
		if requests[i].Cancel {
			continue
		}
		s.last++
		requests[i].N = s.last
		c := &pending{answer: make(chan stream.Answer, 1)}
		if requests[i].Watch {
			c.parts = make(chan stream.Answer, manyParts)
		}
		answers[i], all[i] = c.answer, c
		if s.waiting == nil {
			c.end()
			continue
		}
		s.waiting[s.last] = c
	}
	s.mu.Unlock()
	return answers, all, s.write(requests)
}

// write writes a message.
func (s *Stream) write(requests []stream.Request) error {
	var text []byte
	var err error
	kind := websocket.MessageText
	if s.form.Binary() {
		kind = websocket.MessageBinary
		text, err = cbor.Marshal(stream.Requests{Requests: requests})
	} else {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // bodies stay as they are
		err = e.Encode(stream.Requests{Requests: requests})
		text = b.Bytes()
	}
	if err != nil {
		return err
	}
	return s.ws.Write(context.Background(), kind, text)
}

// Raw sends a text as a message.
func (s *Stream) Raw(text string) error {
	return s.ws.Write(context.Background(), websocket.MessageText, []byte(text))
}

// RoundTrip implements http.RoundTripper.
func (s *Stream) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	if codec.TakesEvents(r.Header.Values("Accept")) {
		return s.watch(r)
	}
	media := r.Header.Get("Content-Type")
	// JSON that is not valid cannot stand in a message of JSON. HTTP shows what is said of it.
	if !strings.HasPrefix(r.URL.Path, "/v1/") || media != "" && media != codec.JSONMedia || len(body) > 0 && !json.Valid(body) {
		return s.byHTTP(r, body)
	}
	q := stream.Request{Method: r.Method, Path: r.URL.RequestURI(), Key: r.Header.Get(api.KeyHeader), Prefer: r.Header.Get(codec.PreferHeader), Trace: r.Header.Get("traceparent"), State: r.Header.Get("tracestate"), Body: body}
	answers, err := s.Send(q)
	if err != nil {
		return nil, err
	}
	var a stream.Answer
	var ok bool
	select {
	case a, ok = <-answers[0]:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	if a.Status == http.StatusBadRequest && bytes.Contains(a.Body, []byte("is not possible over a stream")) {
		return s.byHTTP(r, body)
	}
	return s.response(r, a), nil
}

// response is an answer as HTTP has it.
func (s *Stream) response(r *http.Request, a stream.Answer) *http.Response {
	s.Streamed.Add(1)
	h := http.Header{"Content-Type": {codec.JSONMedia}}
	if a.Status >= http.StatusBadRequest {
		h.Set("Content-Type", codec.ProblemMedia)
	}
	if a.Index > 0 {
		h.Set(codec.IndexHeader, strconv.FormatUint(a.Index, 10))
	}
	return &http.Response{
		StatusCode: a.Status, Status: http.StatusText(a.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}
}

func (s *Stream) byHTTP(r *http.Request, body []byte) (*http.Response, error) {
	s.Plain.Add(1)
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	return http.DefaultTransport.RoundTrip(again)
}
