package server

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/location"
	"github.com/taskrt/taskrt/api/server/paced"
)

// writeTimeout bounds how long a client may take to read an answer, or one element of a long one.
const writeTimeout = 60 * time.Second

// answer writes a value, with the index that the Service has set in meta.
func (h *handler) answer(w http.ResponseWriter, status int, meta *api.Meta, v any) error {
	setIndexHeader(w, meta)
	location.Set(w.Header(), status, v)
	h.write(w, status, codec.JSONMedia, v)
	return nil
}

// reply answers 200 with what call returns, and its index.
func (h *handler) reply(w http.ResponseWriter, r *request, call func(context.Context) (any, error)) error {
	return h.replyAs(w, r, http.StatusOK, call)
}

// replyAs is reply with another status.
func (h *handler) replyAs(w http.ResponseWriter, r *request, status int, call func(context.Context) (any, error)) error {
	ctx, meta := r.call()
	v, err := call(ctx)
	if err != nil {
		return err
	}
	return h.answer(w, status, meta, v)
}

// replyAfter is reply for a request that may wait this long; 0: it does not wait.
func (h *handler) replyAfter(w http.ResponseWriter, r *request, wait time.Duration, call func(context.Context) (any, error)) error {
	if wait == 0 {
		return h.reply(w, r, call)
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return waiting(ctx, h, call) })
}

func setIndexHeader(w http.ResponseWriter, meta *api.Meta) {
	if i := meta.Index(); i > 0 {
		w.Header().Set(codec.IndexHeader, strconv.FormatUint(i, 10))
	}
}

func (h *handler) write(w http.ResponseWriter, status int, contentType string, v any) {
	codec.WithBuffer(func(b []byte) []byte {
		b = append(codec.Append(b, v), '\n')
		head(w, contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.WriteHeader(status)
		_, _ = w.Write(b) // an error means that the client has gone: nobody is there to be told
		return b
	})
}

func head(w http.ResponseWriter, contentType string) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// answerList is writeList for a caller that does not need to know whether the client is still there.
func answerList[T any](w http.ResponseWriter, meta *api.Meta, name string, elements iter.Seq[T], after []byte) error {
	_ = writeList(w, meta, name, elements, after)
	return nil
}

// writeList writes {"name":[…]}, with after behind the list. An error means that the answer did not go out as a whole.
func writeList[T any](w http.ResponseWriter, meta *api.Meta, name string, elements iter.Seq[T], after []byte) (err error) {
	setIndexHeader(w, meta)
	head(w, codec.JSONMedia)
	return paced.WriteList(w, writeTimeout, name, elements, after)
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
