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
	told string // the leader's address as a node that does not lead told it; said with the next dial
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

// file asks the parent for something that comes as a file.
func (h *home) file(ctx context.Context, kind byte, what any) (*os.File, error) {
	c, m, err := h.call(ctx, kind, what, nil)
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing more comes
	if len(m.Files) != 1 {
		m.CloseFiles()
		return nil, fmt.Errorf("child: %d files in an answer", len(m.Files))
	}
	return m.Files[0], nil
}

// Fetch implements worker.Modules.
func (h *home) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	f, err := h.file(ctx, callModule, moduleCall{digest, size})
	if err != nil {
		return nil, err
	}
	return subproc.ReadContent(f, maxContent)
}

// Put implements worker.Blobs.
func (h *home) Put(ctx context.Context, data []byte) (digest string, err error) {
	c, m, err := h.call(ctx, callPut, nil, data)
	if err != nil {
		return "", err
	}
	_ = c.Close() // nothing more comes
	return decode[string](m)
}

// Open implements worker.Blobs.
func (h *home) Open(ctx context.Context, digest string) (worker.Blob, error) {
	f, err := h.file(ctx, callBlob, digest)
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
	c, _, err := h.call(ctx, callCompile, moduleCall{digest, size}, nil)
	if err == nil {
		err = c.Close()
	}
	return err
}

// Secret implements worker.Outside.
func (h *home) Secret(ctx context.Context, l worker.Lease, name string) ([]byte, error) {
	c, m, err := h.call(ctx, callSecret, outsideCall{Lease: l, Name: name}, nil)
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing more comes
	return decode[[]byte](m)
}

// MaySubmit implements worker.Outside.
func (h *home) MaySubmit(ctx context.Context, l worker.Lease, behavior string) error {
	c, _, err := h.call(ctx, callTasks, outsideCall{Lease: l, Name: behavior}, nil)
	if err == nil {
		err = c.Close()
	}
	return err
}

// HTTPLimits implements worker.Outside.
func (h *home) HTTPLimits(ctx context.Context, l worker.Lease) (request, response int64, err error) {
	c, m, err := h.call(ctx, callLimits, outsideCall{Lease: l}, nil)
	if err != nil {
		return 0, 0, err
	}
	_ = c.Close() // nothing more comes
	most, err := decode[limits](m)
	return most.Request, most.Response, err
}

// HTTP implements worker.Outside.
func (h *home) HTTP(ctx context.Context, l worker.Lease, q *fetch.Request) (*fetch.Response, error) {
	first := *q
	first.Body = nil
	c, m, err := h.call(ctx, callHTTP, outsideCall{Lease: l, HTTP: &first}, append([]byte{}, q.Body...))
	if err != nil {
		return nil, err
	}
	_ = c.Close() // nothing more comes
	answer, err := decode[head](m)
	if err != nil || len(m.Files) != 1 {
		m.CloseFiles()
		return nil, errors.Join(fmt.Errorf("child: %d files in an answer", len(m.Files)), err)
	}
	body, err := subproc.ReadContent(m.Files[0], maxContent)
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
