// Package socket is a client's end of streams (SPEC H5): a Node keeps a stream to one node while there is enough to do for it, and carries
// requests over it. Whatever a stream cannot take goes by HTTP: nothing depends on there being one.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api/stream"
)

var (
	// ErrNone says that there is no stream for a request, and that nothing has been done for it: it is to go by HTTP.
	ErrNone = errors.New("socket: no stream")
	// ErrStops says that the node stops, and that nothing has been done for the request.
	ErrStops = errors.New("socket: the node stops")
	// ErrUnsent says that a request was given up before it was sent.
	ErrUnsent = errors.New("socket: not sent")
	// ErrLost says that a request was sent, and that its answer will not come: it may have been done.
	ErrLost = errors.New("socket: no answer")
)

// These say when there is a stream.
const (
	handshakeTimeout = 5 * time.Second
	pauseMin         = time.Second // before the next handshake, after one that failed or a stream that ended; it doubles
	pauseMax         = time.Minute
	// enough is after how many requests by HTTP there is a stream although they were made one after the other.
	enough = 8
)

// Config configures NewNode. Every field is needed.
type Config struct {
	HTTP   *http.Client
	URL    string                                                     // of the stream
	Header func(token string) http.Header                             // of a handshake
	Check  func(handshake *http.Response) (cluster string, err error) // says of which cluster the node is; an error: it is not the one that is meant
	Eager  bool                                                       // a stream begins for the first request, which waits for the handshake
}

// From is what a stream has for good since its handshake.
type From struct {
	Token   string
	Cluster string // the ID
}

// Node is the streams to one node: a stream that takes requests, and former streams that still wait for answers. It is safe for concurrent use.
type Node struct {
	config Config

	mu        sync.Mutex
	conn      *conn         // that takes requests; nil: none
	dialing   chan struct{} // closed at the end of the handshake under way; nil: none
	plain     int           // requests that are under way by HTTP
	made      int           // requests by HTTP since there was a stream
	failures  int           // one after the other: handshakes, and streams that answered nothing
	notBefore time.Time     // of the next handshake
	closed    bool
}

// NewNode makes a Node without a stream. Unless it is eager, a stream begins beside requests by HTTP, when two are under way or several have
// been made.
func NewNode(config Config) *Node { return &Node{config: config} }

// Ask sends a request, which gets its number here, and returns its answer, and the stream's token and cluster. It asks for the token only if a
// stream needs one. long says that the server may wait long before it answers. Other errors than those of token are this package's.
func (n *Node) Ask(ctx context.Context, token func() (string, error), q *stream.Request, long bool) (*stream.Answer, From, error) {
	if !n.wanted() {
		return nil, From{}, ErrNone
	}
	own, err := token()
	if err != nil {
		return nil, From{}, err
	}
	c := n.ready(ctx, own)
	if c == nil {
		return nil, From{}, ErrNone
	}
	a, err := c.ask(ctx, q, long)
	return a, c.from, err
}

// ByHTTP counts a request that goes by HTTP. The caller says when it has ended.
func (n *Node) ByHTTP() (end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.plain++
	n.made++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.plain--
	}
}

// Retire lets the stream take no requests any more: its node answers too late.
func (n *Node) Retire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retire()
}

// Close lets requests under way get their answers, and begins no stream any more.
func (n *Node) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.retire()
}

// retire is Retire under mu.
func (n *Node) retire() {
	if n.conn != nil {
		n.conn.retire()
		n.conn = nil
	}
}

// wanted reports whether there is a stream, or should be one.
func (n *Node) wanted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conn != nil || n.dialing != nil && n.config.Eager || n.due()
}

// due reports whether it is time for a handshake. Under mu.
func (n *Node) due() bool {
	return n.dialing == nil && (n.config.Eager || n.plain > 0 || n.made >= enough) && !n.closed && !time.Now().Before(n.notBefore)
}

// ready returns a stream that takes requests with the token; nil: there is none.
func (n *Node) ready(ctx context.Context, token string) *conn {
	n.mu.Lock()
	if n.conn != nil && n.conn.from.Token != token {
		n.retire() // the token has been replaced
	}
	c, dialing := n.conn, n.dialing
	if c == nil && n.due() {
		dialing = make(chan struct{})
		n.dialing = dialing
		go n.begin(token)
	}
	n.mu.Unlock()
	if c != nil || dialing == nil || !n.config.Eager {
		return c
	}
	select {
	case <-dialing:
	case <-ctx.Done():
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != nil && n.conn.from.Token == token {
		return n.conn
	}
	return nil
}

// dial makes a handshake.
func (n *Node) dial(ctx context.Context, token string) (ws *websocket.Conn, cluster string, err error) {
	form := stream.CBOR{}.Subprotocol()
	ws, res, err := websocket.Dial(ctx, n.config.URL, &websocket.DialOptions{ //nolint:bodyclose // the library has closed it
		HTTPClient: n.config.HTTP, HTTPHeader: n.config.Header(token), Subprotocols: []string{form},
	})
	if err != nil {
		return nil, "", err
	}
	if cluster, err = n.config.Check(res); err == nil && ws.Subprotocol() != form {
		err = fmt.Errorf("the server has not agreed to %s", form)
	}
	if err != nil {
		_ = ws.CloseNow()
		return nil, "", err
	}
	return ws, cluster, nil
}

// begin begins a stream.
func (n *Node) begin(token string) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	ws, cluster, err := n.dial(ctx, token)
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.dialing)
	n.dialing, n.made = nil, 0
	if err != nil {
		n.pause()
		return
	}
	c := newConn(n, ws, From{token, cluster})
	if n.closed {
		c.retire()
		return
	}
	n.conn = c
}

// pause puts the next handshake off. Under mu.
func (n *Node) pause() {
	n.notBefore = time.Now().Add(min(pauseMin<<min(n.failures, 10), pauseMax))
	n.failures++
}

// forget lets a stream go. ended says that it has ended.
func (n *Node) forget(c *conn, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn != c {
		return
	}
	n.conn = nil
	if c.served() {
		n.failures = 0
	}
	if ended {
		n.pause()
	}
}
