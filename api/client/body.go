package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/taskrt/taskrt/api"
)

// sendBody sends a body of any length to one node after the other. It sends a body that cannot seek only once, because the
// bytes that were read of it are gone.
func (c *Client) sendBody(ctx context.Context, r io.Reader, send func(base *url.URL, body *sentBody) error) error {
	seeker, start := io.Seeker(nil), int64(0)
	if s, ok := r.(io.Seeker); ok {
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			seeker, start = s, at
		}
	}
	return c.stream(ctx, false, func(base *url.URL) (sent bool, err error) {
		body := &sentBody{r: r, closed: make(chan struct{})}
		if seeker == nil {
			err := send(base, body)
			return body.begun(), err
		}
		if _, err := seeker.Seek(start, io.SeekStart); err != nil {
			return false, fmt.Errorf("rewind: %w", err)
		}
		err = send(base, body)
		select { // because the transport may read on after it has answered
		case <-body.closed:
		case <-ctx.Done():
		}
		return false, err
	})
}

// exchangeBody sends a request with a body and decodes the answer into v.
func (c *Client) exchangeBody(req *http.Request, base *url.URL, body *sentBody, v any) error {
	res, err := c.send(req)
	if err := body.failed(); err != nil {
		return fmt.Errorf("read what is to be sent: %w", err)
	}
	if err != nil {
		return unreachable(err, "the connection to %s broke", base)
	}
	if res.StatusCode != http.StatusOK {
		return problemOf(res)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, api.MaxBody))
	if err != nil {
		return fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the answer of %s broke off", base), err)
	}
	api.SetBody(req.Context(), b)
	return decodeReply(&reply{status: res.StatusCode, body: b}, v)
}

// problemOf reads the problem of an answer, and closes the answer.
func problemOf(res *http.Response) error {
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, api.MaxBody))
	return decodeProblem(res, b)
}

// stream asks one node after the other. It ends when try succeeds, when the error of try is final, or when try has sent something that it cannot send
// again. patient says that it waits for nodes that cannot be reached.
func (c *Client) stream(ctx context.Context, patient bool, try func(base *url.URL) (sent bool, err error)) (err error) {
	c.rounds(ctx, c.config.RetryFor, func(base *url.URL) (over, answered bool) {
		var sent bool
		if sent, err = try(base); err == nil || sent || ctx.Err() != nil {
			return true, false
		}
		if api.CodeOf(err) == CodeUnreachable {
			return false, patient
		}
		problem, ok := errors.AsType[*api.Error](err)
		return !ok || judge(problem) == final, true
	})
	return err
}

// sentBody is a body on its way. The send function of sendBody must see to it that the body is closed, as a transport does.
type sentBody struct {
	r      io.Reader
	once   sync.Once
	closed chan struct{}
	moves  func() // if not nil, called whenever something was read

	mu  sync.Mutex
	n   int64
	err error
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.moves != nil {
		b.moves()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Close implements io.Closer. It leaves open the reader under the body, which it has not opened.
func (b *sentBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// begun reports whether a part of the body has gone out.
func (b *sentBody) begun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n > 0
}

// failed returns why the body could not be read; nil if it could.
func (b *sentBody) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
