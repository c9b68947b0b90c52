// Package client is taskrt for Go programs: Client implements api.Service over HTTP, against the handlers of package server. It
// links neither the handlers nor a library of schemas.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client/internal/pipeline"
	"github.com/taskrt/taskrt/api/client/internal/socket"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/tracing"
)

// CodeUnreachable is the code of the error of a client that no server has answered. It never travels.
const CodeUnreachable = "unreachable"

// Config configures New.
type Config struct {
	URLs []string // of the nodes, "http://127.0.0.1:7070"; tried in order, beginning with the node that answered last
	// RetryFor bounds for how long a request is sent again that certainly did nothing (no leader, overloaded, not ready).
	// Default 15 s: longer than an election.
	RetryFor time.Duration
	// AttemptTimeout bounds one exchange, besides the wait for which it asks. Default 15 s.
	AttemptTimeout time.Duration
	// BatchBytes is how many bytes the body of a SubmitBatch gets before the next body begins. Default 7 MiB: one more item
	// still fits below MaxBody.
	BatchBytes int
	// Pipelined puts Submits that are made at the same time into few requests. It is for programs with many callers: without it
	// each caller needs a connection, and each task a request. Answers and errors are the same as those of a Submit alone, but
	// Meta has no Body. A Submit under an Idempotency-Key goes alone. One that is traced takes its
	// trace along; to servers of version 0.1.0, which know only that of a whole request, it goes alone.
	Pipelined bool
	// Sent, if set, is told how many bytes of a request's body are on their way. It is called from another goroutine. If the
	// request is sent again, the number begins anew.
	Sent func(bytes int64)
	// TLS is that of https servers: package trust makes one that trusts a cluster. Nil: the system's authorities.
	TLS *tls.Config
	// Token returns the token with which the client proves itself, `trt_…` (SPEC A4): StaticToken, or a file of package trust. It is
	// asked for each request, so another token in the file is used at once. Nil: the client has none. New refuses URLs to which a
	// token would travel in the clear: http to another machine.
	Token func() (string, error)
	// TokenInClear says that the token may travel in the clear: the network is one's own.
	TokenInClear bool
	// Cluster is the ID of the cluster that is meant, as the header Taskrt-Cluster names it (SPEC C2). Another cluster does nothing,
	// and every call returns other_cluster. "": whichever answers.
	Cluster   string
	Transport http.RoundTripper // default: a transport of the client's own, without compression
	// Stream says when requests go over a stream (SPEC H5), for which a handshake goes through Transport. Requests that a stream does not
	// take go by HTTP, and so do all of them while a node has no stream. A Transport that is no *http.Transport may want to see each request:
	// with such a one there are streams under StreamAlways only. With Sent there are none.
	Stream Stream
}

// Stream says when a client has a stream to a node.
type Stream int

// These are when.
const (
	StreamWhenBusy Stream = iota // beside requests by HTTP, when two are under way at a time, or after a few
	StreamAlways                 // the first request waits until the stream is there
	StreamNever
)

// Client is a Service behind HTTP. It is safe for concurrent use.
//
// If a node cannot be reached, or says that nothing happened, the client asks the next node. The outcome of a request may be
// unknown, because the connection broke after the request was sent, or because a node says so. Then the client sends it again
// only if doing it twice is the same as doing it once: reads, Cancel, Remove, Push, and a Submit that names its task and joins
// (SPEC I3, H4). Any other Submit returns outcome_unknown. A program that must know gives the task an ID, or the call a key:
// with WithIdempotencyKey every call is sent again. After that the outcome of a Submit may be "existing" for a task that the
// first request created. The client draws no IDs itself: it cannot know whether the IDs of the behavior are deterministic, and
// a random ID would defeat them.
type Client struct {
	urls    []*url.URL
	http    *http.Client
	config  Config
	current atomic.Int64 // index of the URL whose node answered last
	// tracesAlone says that a server has refused submits that name traces: each goes by itself, with the trace in a header.
	tracesAlone atomic.Bool
	pipe        *pipeline.Pipeline // nil: each Submit is a request
	streams     map[*url.URL]*socket.Node
}

var _ api.Service = (*Client)(nil)

// maxIdle is how many idle connections to a node are kept. With fewer connections than callers, new ones would be made all the
// time.
const maxIdle = 1024

// New makes a client. The caller must Close it.
func New(c Config) (*Client, error) {
	if c.RetryFor == 0 {
		c.RetryFor = 15 * time.Second
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = 15 * time.Second
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = api.MaxBody - 1<<20
	}
	if c.Transport == nil {
		dialer := &net.Dialer{Timeout: 3 * time.Second}
		c.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
			MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute, DisableCompression: true, TLSClientConfig: c.TLS,
		}
	}
	client := &Client{config: c, http: &http.Client{Transport: c.Transport}}
	if c.Token != nil {
		client.http.CheckRedirect = stayHere
	}
	for _, s := range c.URLs {
		u, err := parseServer(s)
		if err == nil {
			err = c.checkClear(u)
		}
		if err != nil {
			return nil, err
		}
		client.urls = append(client.urls, u)
	}
	if len(client.urls) == 0 {
		return nil, errors.New("no server URL given")
	}
	client.streams = newStreams(client)
	if c.Pipelined {
		client.pipe = newPipeline(client)
	}
	return client, nil
}

// parseServer parses a URL, or HOST:PORT, which means http.
func parseServer(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not a server URL: write it as in http://127.0.0.1:7070", s)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Close closes idle connections, and ends the Submits of a pipelined client. Other calls under way go on.
func (c *Client) Close() {
	if c.pipe != nil {
		c.pipe.Close()
	}
	for _, node := range c.streams {
		node.Close()
	}
	c.http.CloseIdleConnections()
}

// call is one request, to whichever node answers it.
type call struct {
	method, path string
	query        url.Values
	contentType  string
	body         []byte
	wait         time.Duration // for how long the call asks the server to wait
	key          string        // Idempotency-Key
	part         string        // what stands behind the context's key, if one call of the program goes in several requests
	resend       bool          // it may be sent again although it may have been done
	minimal      bool          // the short answer is enough
	end          time.Time     // of all slices of a wait, of which this call is one; zero: it is none
	patient      bool          // unreachable servers are worth waiting for: they were there a moment ago
}

// reply is an answer that is not an error.
type reply struct {
	status int
	body   []byte
	maybe  bool // the call may have been done before, when it was sent earlier
}

// verdict says what an exchange that did not succeed means.
type verdict int

const (
	final   verdict = iota // there is an answer, good or bad
	unsent                 // no node was reached
	nothing                // a node says that nothing was done
	unknown                // the call may have been done
)

// do sends a call until it has an answer, and decodes the answer into v unless v is nil.
func (c *Client) do(ctx context.Context, k call, v any) (*reply, error) {
	bare := k
	if key := idempotencyKey(ctx); key != "" && k.method != http.MethodGet && (!k.resend || !isSpare(ctx)) {
		if err := api.CheckKey(key + k.part); err != nil {
			return &reply{}, err
		}
		k.key, k.resend = key+k.part, true
	}
	var (
		r       *reply
		verdict verdict
		err     error
		maybe   bool
	)
	c.rounds(ctx, k.patience(c.config.RetryFor), func(base *url.URL) (over, answered bool) {
		k.shorten()
		r, verdict, err = c.exchange(ctx, base, k)
		if api.CodeOf(err) == "keys_exhausted" && isSpare(ctx) && !maybe {
			k = bare
			r, verdict, err = c.exchange(ctx, base, k)
		}
		maybe = maybe || verdict == unknown
		if ctx.Err() != nil || verdict == unknown && !k.resend {
			return true, false
		}
		return verdict == final, k.patient || verdict != unsent
	})
	if verdict != final {
		err = k.outcome(ctx, maybe, err)
	}
	if err != nil {
		return &reply{maybe: maybe}, err
	}
	r.maybe = maybe
	return r, decodeReply(r, v)
}

// rounds asks one node after the other, beginning with the node that answered last, until try says that it is over. After a
// pause it begins a new round, as long as the time within has not passed and some node answered in the last round.
func (c *Client) rounds(ctx context.Context, within time.Duration, try func(base *url.URL) (over, answered bool)) {
	started, pause := time.Now(), 50*time.Millisecond
	for {
		again := false
		for range c.urls {
			i := int(c.current.Load()) % len(c.urls)
			over, answered := try(c.urls[i])
			if over {
				return
			}
			again = again || answered
			c.current.CompareAndSwap(int64(i), int64(i+1)%int64(len(c.urls)))
		}
		if !again || time.Since(started)+pause > within {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, time.Second)
	}
}

// outcome words the error of a call that got no answer. maybe says that the call may have been done.
func (k *call) outcome(ctx context.Context, maybe bool, last error) error {
	if maybe && k.method != http.MethodGet && api.CodeOf(last) != api.CodeOutcomeUnknown {
		last = fmt.Errorf("%w: %w", api.NewError(api.CodeOutcomeUnknown, "the request was sent, but its answer did not arrive"), last)
	}
	if ctx.Err() != nil && !errors.Is(last, ctx.Err()) {
		last = fmt.Errorf("%w (%w)", last, context.Cause(ctx))
	}
	return last
}

// exchange sends a call to one node, over a stream if there is one for it.
func (c *Client) exchange(ctx context.Context, base *url.URL, k call) (*reply, verdict, error) {
	attempt, cancel := context.WithTimeout(ctx, c.config.AttemptTimeout+k.wait)
	defer cancel()
	if node := c.streams[base]; node != nil && k.fitsStream() {
		r, v, err := overStream(attempt, c, node, base, k)
		if attempt.Err() != nil && ctx.Err() == nil {
			node.Retire()
		}
		if !errors.Is(err, socket.ErrNone) {
			return r, v, err
		}
		defer node.ByHTTP()()
	}
	return byHTTP(attempt, c, base, k)
}

// byHTTP sends a call to one node as a request of its own.
func byHTTP(ctx context.Context, c *Client, base *url.URL, k call) (*reply, verdict, error) {
	sent := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	req, err := http.NewRequestWithContext(traced, k.method, base.String()+k.target(), bytes.NewReader(k.body))
	if err != nil {
		return nil, final, fmt.Errorf("make request: %w", err)
	}
	if len(k.body) > 0 {
		req.Body = c.counted(req.Body)
	}
	if k.contentType != "" {
		req.Header.Set("Content-Type", k.contentType)
	}
	if k.key != "" {
		req.Header.Set(api.KeyHeader, k.key)
	}
	if k.method == http.MethodPost {
		tracing.Headers(ctx, req.Header)
	}
	if k.minimal {
		req.Header.Set(codec.PreferHeader, codec.ReturnMinimal)
	}
	res, err := c.send(req)
	switch _, own := errors.AsType[*ownError](err); {
	case own:
		return nil, final, unreachable(err, "", base)
	case err != nil && !sent:
		return nil, unsent, unreachable(err, "no server answers at %s", base)
	case err != nil:
		return nil, unknown, unreachable(err, "the connection to %s broke", base)
	}
	defer res.Body.Close()
	body, err := readAnswer(res)
	if err != nil {
		return nil, unknown, fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the answer of %s broke off", base), err)
	}
	noteIndex(ctx, res)
	if res.StatusCode < 300 {
		api.SetBody(ctx, body)
		return &reply{status: res.StatusCode, body: body}, final, nil
	}
	e := decodeProblem(res, body)
	if c.renewed(req.Header.Get("Authorization"), e) {
		return nil, nothing, e
	}
	return nil, judge(e), e
}

// readAnswer reads an answer. It makes as much room as the answer says that it takes, but at first a mebibyte at most.
func readAnswer(res *http.Response) ([]byte, error) {
	const least, most = 512, 1 << 20
	room := int64(least)
	if res.ContentLength >= 0 {
		room = min(res.ContentLength, most) + 1 // a byte more, because the end is seen only while there is room
	}
	b := make([]byte, 0, room)
	for {
		n, err := res.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = append(make([]byte, 0, 4*cap(b)), b...)
		}
	}
}

// noteIndex notes the log index of an answer, and the cluster that it is of.
func noteIndex(ctx context.Context, res *http.Response) {
	api.SetCluster(ctx, res.Header.Get(codec.ClusterHeader))
	if i, err := strconv.ParseUint(res.Header.Get(codec.IndexHeader), 10, 64); err == nil {
		api.SetIndex(ctx, i)
	}
}

// judge returns what a problem says about sending the request again.
func judge(e *api.Error) verdict {
	switch e.Code {
	case api.CodeNoLeader, api.CodeNotReady, api.CodeOverloaded, "keys_exhausted":
		return nothing
	case api.CodeOutcomeUnknown:
		return unknown
	}
	if e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout {
		return unknown // a proxy may have answered
	}
	return final
}

// decodeProblem makes an *Error of an answer that is an error. A proxy may have worded the answer.
func decodeProblem(res *http.Response, body []byte) *api.Error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media != codec.ProblemMedia {
		return noProblem(res.StatusCode, body)
	}
	return readProblem(res.StatusCode, body)
}

// readProblem makes an *Error of a problem document.
func readProblem(status int, body []byte) *api.Error {
	e := &api.Error{}
	if json.Unmarshal(body, e) != nil || e.Code == "" {
		return noProblem(status, body)
	}
	e.Status = status
	return e
}

func noProblem(status int, body []byte) *api.Error {
	return &api.Error{Code: api.CodeInternal, Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf("answer without a problem: %.200q", body)}
}

func decodeReply(r *reply, v any) error {
	if v == nil {
		return nil
	}
	if err := codec.DecodeAnswer(r.body, v); err != nil {
		return fmt.Errorf("%w: %w", api.NewError(api.CodeInternal, "the answer cannot be read"), err)
	}
	return nil
}

func (c *Client) read(ctx context.Context, path string, q url.Values, v any) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, query: q, resend: true}, v)
	return err
}

// post sends a JSON body. resend says that the request may be sent again although it may have been done.
func (c *Client) post(ctx context.Context, path string, q url.Values, body, answer any, resend bool) (*reply, error) {
	return c.do(ctx, call{
		method: http.MethodPost, path: path, query: q, contentType: codec.JSONMedia, body: codec.Encode(body), resend: resend,
	}, answer)
}
