package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/stream"
)

// manyParts is how many parts of a watch may come that nobody has taken. A client that is not a test would end the watch instead, and go on later.
const manyParts = 4096

// Watch begins a watch, and returns where its parts and its end come. The parts end when the watch does, with its end or without one.
func (s *Stream) Watch(path string, after *uint64) (n uint64, parts, end <-chan stream.Answer, err error) {
	q := []stream.Request{{Method: http.MethodGet, Path: path, Watch: true, After: after}}
	_, all, err := s.send(q)
	return q[0].N, all[0].parts, all[0].answer, err
}

// watch carries a request for Server-Sent Events as a watch.
func (s *Stream) watch(r *http.Request) (*http.Response, error) {
	var after *uint64
	if last := r.Header.Get(codec.LastEventID); last != "" {
		n, err := strconv.ParseUint(last, 10, 64)
		if err != nil {
			return nil, err
		}
		after = &n
	}
	n, parts, end, err := s.Watch(r.URL.RequestURI(), after)
	if err != nil {
		return nil, err
	}
	cancel := func() { _ = s.write([]stream.Request{{N: n, Cancel: true}}) }
	var first stream.Answer
	var ok bool
	select {
	case first, ok = <-parts:
	case <-r.Context().Done():
		cancel()
		return nil, r.Context().Err()
	}
	if !ok {
		if a, ok := <-end; ok {
			return s.response(r, a), nil
		}
		return nil, io.ErrUnexpectedEOF
	}
	s.Watched.Add(1)
	res := s.response(r, stream.Answer{Status: first.Status, Index: first.Index})
	res.Header.Set("Content-Type", codec.EventMedia)
	read, write := io.Pipe()
	go func() {
		for a, ok := first, true; ok; a, ok = <-parts {
			if _, err := write.Write(asText(a.Events)); err != nil {
				break // the reader has gone, and has ended the watch
			}
		}
		_ = write.Close()
	}()
	body := &watched{read, sync.OnceFunc(cancel)}
	context.AfterFunc(r.Context(), func() { _ = body.Close() })
	res.Body, res.ContentLength = body, -1
	return res, nil
}

// asText writes events as Server-Sent Events.
func asText(events []stream.Event) []byte {
	var b bytes.Buffer
	for _, e := range events {
		if e.Type != "" {
			fmt.Fprintf(&b, "event: %s\ndata: %s\n", e.Type, e.Data)
		}
		if e.ID != nil {
			fmt.Fprintf(&b, "id: %d\n", *e.ID)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// watched is the body of a watch.
type watched struct {
	*io.PipeReader
	end func()
}

func (w *watched) Close() error {
	w.end()
	return w.PipeReader.Close()
}
