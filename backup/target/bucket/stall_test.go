package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// silent is a store that falls silent in the middle of a body, and keeps the connection.
type silent struct {
	object []byte
	pause  time.Duration // before each MiB that it takes
	times  atomic.Int64  // that it will fall silent
	asked  atomic.Int64
	over   chan struct{}
}

func (s *silent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	falls := s.times.Add(-1) >= 0
	if r.Method == http.MethodPut {
		var body bytes.Buffer
		if falls {
			_, _ = io.CopyN(&body, r.Body, r.ContentLength/2)
			<-s.over
			return
		}
		for {
			<-time.After(s.pause)
			if _, err := io.CopyN(&body, r.Body, 1<<20); err != nil {
				break
			}
		}
		s.object = body.Bytes()
		w.Header().Set("ETag", `"e"`)
		return
	}
	from, half := 0, len(s.object)/2
	if text := r.Header.Get("Range"); text != "" {
		if _, err := fmt.Sscanf(text, "bytes=%d-", &from); err != nil || r.Header.Get("If-Match") != `"e"` {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("ETag", `"e"`)
	w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	w.Header().Set("Content-Length", fmt.Sprint(len(s.object)-from))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(s.object)-1, len(s.object)))
		w.WriteHeader(http.StatusPartialContent)
	}
	if !falls {
		_, _ = w.Write(s.object[from:])
		return
	}
	_, _ = w.Write(s.object[from:max(from, half)])
	_ = http.NewResponseController(w).Flush()
	<-s.over
}

// beside runs a test beside a store, in virtual time. What is not over within an hour is cancelled.
func beside(t *testing.T, times int64, test func(t *testing.T, ctx context.Context, b *Bucket, s *silent)) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		defer n.Close()
		s := &silent{object: make([]byte, 3<<20), over: make(chan struct{})}
		_, _ = rand.NewChaCha8([32]byte{}).Read(s.object)
		s.times.Store(times)
		server := &http.Server{Handler: s}
		listener := n.Node("store:9000").Listen(mux.Blob)
		go func() { _ = server.Serve(listener) }() // it ends when it is closed
		defer func() {
			close(s.over)
			if err := server.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		b, err := open("s3://backups?path_style=true&region=here&endpoint=http://store:9000", func(ctx context.Context, _, addr string) (net.Conn, error) {
			return n.Node("server").Dial(ctx, addr, mux.Blob)
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		test(t, ctx, b, s)
		if ctx.Err() != nil {
			t.Error("it waited for an hour")
		}
	})
}

// download reads the object.
func download(ctx context.Context, b *Bucket) ([]byte, error) {
	r, err := b.Get(ctx, "object")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestSilentDownload: a store that falls silent in the middle of a body is asked again for the rest. If it stays silent, the download ends
// (SPEC C8).
func TestSilentDownload(t *testing.T) {
	beside(t, 3, func(t *testing.T, ctx context.Context, b *Bucket, s *silent) {
		if got, err := download(ctx, b); err != nil || !bytes.Equal(got, s.object) || s.asked.Load() != 4 {
			t.Errorf("%d bytes after %d requests, %v", len(got), s.asked.Load(), err)
		}
	})
	beside(t, 1<<40, func(t *testing.T, ctx context.Context, b *Bucket, s *silent) {
		got, err := download(ctx, b)
		if err == nil || len(got) != len(s.object)/2 || !strings.Contains(err.Error(), "reading object") {
			t.Errorf("%d bytes after %d requests, %v", len(got), s.asked.Load(), err)
		}
	})
}

// TestSlowUpload: an upload may take as long as it needs, as long as it moves (SPEC C8).
func TestSlowUpload(t *testing.T) {
	content := bytes.Repeat([]byte("content!"), 1<<21)
	beside(t, 0, func(t *testing.T, ctx context.Context, b *Bucket, s *silent) {
		s.pause = stall / 6 // so the last 4 MiB, which the network holds, are taken before the answer is late
		if err := b.Put(ctx, "object", bytes.NewReader(content), int64(len(content))); err != nil || len(s.object) < len(content) || s.asked.Load() != 1 {
			t.Errorf("%d bytes after %d requests: %v", len(s.object), s.asked.Load(), err)
		}
	})
}

// TestSilentUpload: a store that takes half of a body and falls silent is given up (SPEC C8).
func TestSilentUpload(t *testing.T) {
	content := bytes.Repeat([]byte("content!"), 1<<21) // more than the network holds
	beside(t, 1<<40, func(t *testing.T, ctx context.Context, b *Bucket, s *silent) {
		err := b.Put(ctx, "object", bytes.NewReader(content), int64(len(content)))
		if err == nil || !strings.Contains(err.Error(), "writing object") {
			t.Errorf("after %d requests: %v", s.asked.Load(), err)
		}
	})
}
