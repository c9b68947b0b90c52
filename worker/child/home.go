package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/worker"
)

// home is the parent as the child's worker sees it.
type home struct {
	conn *subproc.Conn

	mu   sync.Mutex
	told string // the leader's address, as a node that does not lead told it; goes with the next dial
}

var (
	_ worker.Dialer  = (*home)(nil)
	_ worker.Modules = (*home)(nil)
	_ worker.Blobs   = (*home)(nil)
	_ worker.Outside = (*home)(nil)
)

// call asks the parent for something. If more is not nil it is sent over the call's socket first. The socket stays
// open.
func (h *home) call(ctx context.Context, kind byte, what any, more []byte) (*subproc.Conn, subproc.Message, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, subproc.Message{}, fmt.Errorf("child: %w", err)
	}
	mine, other, err := subproc.Pair()
	if err != nil {
		return nil, subproc.Message{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = mine.Close() })
	err = h.conn.Send(kind, body, other)
	err = errors.Join(err, other.Close())
	if err == nil && more != nil {
		err = mine.Send(putBytes, more)
	}
	var m subproc.Message
	if err == nil {
		m, err = mine.Recv(maxMessage)
	}
	if !stop() {
		err = context.Cause(ctx)
	} else if err == nil && m.Kind == answerFailed {
		var f failure
		if f, err = decode[failure](m); err == nil {
			err = f.err()
		}
	}
	if err != nil {
		m.CloseFiles()
		_ = mine.Close() // nothing is lost
		return nil, subproc.Message{}, err
	}
	return mine, m, nil
}

// Dial implements worker.Dialer.
func (h *home) Dial(ctx context.Context) (net.Conn, error) {
	h.mu.Lock()
	told := h.told
	h.told = ""
	h.mu.Unlock()
	c, _, err := h.call(ctx, callDial, dialCall{told}, nil)
	if err != nil {
		return nil, err
	}
	return c.Raw(), nil
}

// Redirect implements worker.Dialer.
func (h *home) Redirect(addr string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = addr
}

// ask is call for what has one answer.
func (h *home) ask(ctx context.Context, kind byte, what any, more []byte) (subproc.Message, error) {
	c, m, err := h.call(ctx, kind, what, more)
	if err == nil {
		_ = c.Close() // nothing more comes
	}
	return m, err
}

// file asks the parent for something that comes as a file. The answer has this one file.
func (h *home) file(ctx context.Context, kind byte, what any, more []byte) (subproc.Message, *os.File, error) {
	m, err := h.ask(ctx, kind, what, more)
	if err != nil {
		return m, nil, err
	}
	if len(m.Files) != 1 {
		m.CloseFiles()
		return m, nil, fmt.Errorf("child: %d files in an answer", len(m.Files))
	}
	return m, m.Files[0], nil
}

// Fetch implements worker.Modules.
func (h *home) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	_, f, err := h.file(ctx, callModule, moduleCall{digest, size}, nil)
	if err != nil {
		return nil, err
	}
	return subproc.ReadContent(f, maxContent)
}

// Put implements worker.Blobs.
func (h *home) Put(ctx context.Context, data []byte) (digest string, err error) {
	m, err := h.ask(ctx, callPut, len(data), data)
	if err != nil {
		return "", err
	}
	return decode[string](m)
}

// Open implements worker.Blobs.
func (h *home) Open(ctx context.Context, digest string) (worker.Blob, error) {
	_, f, err := h.file(ctx, callBlob, digest, nil)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return blob{f, info.Size()}, nil
}

// compile has the parent put the code of a module where this process finds it.
func (h *home) compile(ctx context.Context, digest string, size int64) error {
	_, err := h.ask(ctx, callCompile, moduleCall{digest, size}, nil)
	return err
}

// Secret implements worker.Outside.
func (h *home) Secret(ctx context.Context, l worker.Lease, name string) ([]byte, error) {
	m, err := h.ask(ctx, callSecret, outsideCall{Lease: l, Name: name}, nil)
	if err != nil {
		return nil, err
	}
	return decode[[]byte](m)
}

// MaySubmit implements worker.Outside.
func (h *home) MaySubmit(ctx context.Context, l worker.Lease, behavior string) error {
	_, err := h.ask(ctx, callTasks, outsideCall{Lease: l, Name: behavior}, nil)
	return err
}

// HTTPLimits implements worker.Outside.
func (h *home) HTTPLimits(ctx context.Context, l worker.Lease) (request, response int64, err error) {
	m, err := h.ask(ctx, callLimits, outsideCall{Lease: l}, nil)
	if err != nil {
		return 0, 0, err
	}
	most, err := decode[limits](m)
	return most.Request, most.Response, err
}

// HTTP implements worker.Outside.
func (h *home) HTTP(ctx context.Context, l worker.Lease, q *fetch.Request) (*fetch.Response, error) {
	first := *q
	first.Body = nil
	m, f, err := h.file(ctx, callHTTP, outsideCall{Lease: l, HTTP: &first}, append([]byte{}, q.Body...)) // not nil: a body follows
	if err != nil {
		return nil, err
	}
	answer, err := decode[head](m)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	body, err := subproc.ReadContent(f, maxContent)
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Status: answer.Status, Header: answer.Header, Body: body}, nil
}

// blob is an open file of the store.
type blob struct {
	*os.File
	size int64
}

var _ worker.Blob = blob{}

// Size implements worker.Blob.
func (b blob) Size() int64 { return b.size }
