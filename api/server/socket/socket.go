// Package socket serves the API over WebSockets (SPEC H5): each request of a message goes through the handler of HTTP, whose answer goes back
// under the request's number.
package socket

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server/paced"
	"github.com/taskrt/taskrt/api/stream"
)

// These bound what a client can hold. All of them end the connection.
const (
	pingEvery    = 30 * time.Second
	pongTimeout  = 30 * time.Second
	writeTimeout = 60 * time.Second // of one message, which a client does not read
	expelTime    = 5 * time.Second  // for the answers to what is under way when the token ends
)

// Config configures Serve. Every field is needed, unless it says otherwise.
type Config struct {
	Handler  http.Handler                                            // answers the requests
	Problem  func(w http.ResponseWriter, r *http.Request, err error) // answers a request that the handler does not see
	Budget   *semaphore.Weighted                                     // of the bytes of messages in memory
	Patience time.Duration                                           // for a message, once it has begun
	Stopping context.Context                                         // ends when the server begins to stop
	Tokens   Tokens                                                  // nil: tokens do not end
}

// Tokens says when a token ends.
type Tokens interface {
	// Long returns a context that ends when the principal's token no longer holds: its cause says so. The caller must call end.
	Long(ctx context.Context, p *auth.Principal) (long context.Context, end func(), err error)
}

// Serve answers a request for a stream, and serves the stream until it ends. An error, an *api.Error, says that there is none: nothing has been
// answered.
func Serve(w http.ResponseWriter, r *http.Request, config Config) error {
	form := offered(r.Header)
	if form == nil {
		return api.FieldError(api.CodeBadRequest, "Sec-WebSocket-Protocol", "offer taskrt.v1+json or taskrt.v1+cbor: this path is for WebSockets")
	}
	group := GroupOf(r.Context())
	if config.Stopping.Err() != nil || !group.enter() { // in this order: who has entered must leave
		return api.NewError(api.CodeNotReady, "this node is stopping")
	}
	defer group.leave()
	token := r.Context()
	if config.Tokens != nil {
		long, end, err := config.Tokens.Long(r.Context(), auth.PrincipalOf(r.Context()))
		if err != nil {
			return err
		}
		defer end()
		token = long
	}
	refusing := &refusing{ResponseWriter: w}
	ws, err := websocket.Accept(refusing, r, &websocket.AcceptOptions{
		Subprotocols: []string{form.Subprotocol()}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		for _, name := range []string{"Connection", "Upgrade", "Sec-Websocket-Version", "X-Content-Type-Options", "Content-Type"} {
			w.Header().Del(name)
		}
		return api.NewError(api.CodeBadRequest, "%.200s", err)
	}
	defer ws.CloseNow() //nolint:errcheck // it is closed
	ws.SetReadLimit(stream.MaxMessage)
	c := newConn(r, ws, form, config, group)
	defer context.AfterFunc(group.over, func() {
		c.cancel()
		_ = refusing.conn.Close()
	})()
	c.serve(token)
	return nil
}

// offered returns the form that the server prefers among those that a client offers; nil: none.
func offered(h http.Header) stream.Form {
	names := subprotocols(h)
	for _, f := range stream.Forms() {
		if slices.Contains(names, f.Subprotocol()) {
			return f
		}
	}
	return nil
}

// refusing passes on a handshake, but no refusal, which the handler words.
type refusing struct {
	http.ResponseWriter
	refused bool
	conn    net.Conn // after the handshake
}

// Hijack implements http.Hijacker. It keeps the connection: a stream that is cut off waits for nobody.
func (w *refusing) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.conn = conn
	return conn, both, err
}

func (w *refusing) WriteHeader(status int) {
	if w.refused = status >= http.StatusBadRequest; !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *refusing) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// closing is why the server closes a connection.
type closing struct {
	code   websocket.StatusCode
	reason string
}

func (c closing) Error() string { return fmt.Sprintf("%d %s", c.code, c.reason) }

// read reads messages, and lets their requests get under way, until the connection ends, or nothing is begun any more: then it returns nil.
func (c *conn) read() error {
	for {
		if !c.waitForRoom() {
			return nil
		}
		requests, err := c.message()
		if err != nil {
			return err
		}
		for i := range requests {
			if err := c.begin(&requests[i]); err != nil {
				for _, left := range requests[i:] {
					c.config.Budget.Release(int64(len(left.Body)))
				}
				if errors.Is(err, errClosed) {
					return nil
				}
				return err
			}
		}
	}
}

// pieces are where messages begin. Nothing of a message is kept.
var pieces = sync.Pool{New: func() any { return new([paced.FirstPiece + 1]byte) }}

// message reads a message. Its bodies count against the budget until their requests give them back.
func (c *conn) message() ([]stream.Request, error) {
	kind, r, err := c.ws.Reader(c.ctx)
	if err != nil {
		return nil, err
	}
	c.arrived()
	if (kind == websocket.MessageBinary) != c.form.Binary() {
		return nil, closing{websocket.StatusUnsupportedData, "this subprotocol has messages of the other type"}
	}
	late := time.AfterFunc(c.config.Patience, c.cancel)
	first := pieces.Get().(*[paced.FirstPiece + 1]byte)
	defer pieces.Put(first)
	text, release, err := paced.Receive(c.config.Budget, r, stream.MaxMessage+1, first[:0]) // the library reads a byte more to see the end
	late.Stop()
	switch {
	case errors.Is(err, paced.ErrBudget):
		return nil, closing{websocket.StatusTryAgainLater, "too many bodies are being received"}
	case err != nil:
		return nil, err
	}
	defer release()
	requests, err := c.form.Requests(text)
	if err != nil {
		return nil, closing{websocket.StatusInvalidFramePayloadData, shorten(cmp.Or(err.Error(), "the message cannot be read"))}
	}
	var bodies int64
	for i := range requests {
		bodies += int64(len(requests[i].Body))
	}
	if !c.config.Budget.TryAcquire(bodies) {
		return nil, closing{websocket.StatusTryAgainLater, "too many bodies are being received"}
	}
	return requests, nil
}

// shorten makes a text fit into a close frame (RFC 6455, 5.5.1).
func shorten(reason string) string {
	const most = 120
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "")
}

// ping finds out whether a client is still there while it sends nothing. A client whose message is under way, or for whose answers the server
// waits, is not asked: its pong would lie behind.
func (c *conn) ping() {
	every := time.NewTicker(pingEvery)
	defer every.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-every.C:
		}
		c.rest()
		c.mu.Lock()
		c.unwanted.age()
		c.mu.Unlock()
		before, listening := c.heard()
		if !listening {
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, pongTimeout)
		err := c.ws.Ping(ctx)
		cancel()
		if after, listening := c.heard(); err != nil && listening && after == before {
			c.cancel()
			return
		}
	}
}
