package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client/internal/socket"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/api/tracing"
)

// maxStreamed is how many bytes of a body go over a stream. Other requests must not stand behind larger ones.
const maxStreamed = 1 << 20

// newStreams makes the streams of a client to each of its nodes; nil: it has none.
func newStreams(c *Client) map[*url.URL]*socket.Node {
	_, usual := c.config.Transport.(*http.Transport)
	if c.config.Stream == StreamNever || c.config.Sent != nil || c.config.Stream == StreamWhenBusy && !usual {
		return nil
	}
	config := socket.Config{
		HTTP: c.http, Eager: c.config.Stream == StreamAlways,
		Header: func(token string) http.Header {
			header := http.Header{}
			if c.config.Cluster != "" {
				header.Set(codec.ClusterHeader, c.config.Cluster)
			}
			if token != "" {
				header.Set("Authorization", bearer+token)
			}
			return header
		},
		Check: func(res *http.Response) (string, error) {
			return res.Header.Get(codec.ClusterHeader), c.checkCluster(res)
		},
	}
	streams := make(map[*url.URL]*socket.Node, len(c.urls))
	for _, base := range c.urls {
		config.URL = base.String() + stream.Path
		streams[base] = socket.NewNode(config)
	}
	return streams
}

// target is what a call asks for: the path, with the query.
func (k *call) target() string {
	if len(k.query) == 0 {
		return k.path
	}
	return k.path + "?" + k.query.Encode()
}

// fitsStream reports whether a stream takes a call.
func (k *call) fitsStream() bool {
	return (k.contentType == "" || k.contentType == codec.JSONMedia) && len(k.body) <= maxStreamed && strings.HasPrefix(k.path, "/v1/")
}

// overStream sends a call to one node over its stream. The error is socket.ErrNone if there is none, and nothing was done.
func overStream(ctx context.Context, c *Client, node *socket.Node, base *url.URL, k call) (*reply, verdict, error) {
	q := &stream.Request{Method: k.method, Path: k.target(), Key: k.key, Body: k.body}
	if k.method == http.MethodPost {
		q.Trace, q.State = tracing.Texts(ctx)
	}
	if k.minimal {
		q.Prefer = codec.ReturnMinimal
	}
	a, from, err := node.Ask(ctx, func() (string, error) { return ownToken(c) }, q, k.wait > 0)
	switch own, is := errors.AsType[*ownError](err); {
	case is:
		return nil, final, own.err
	case errors.Is(err, socket.ErrNone):
		return nil, unsent, err
	case errors.Is(err, socket.ErrStops): // as it answers to those who ask it now
		e := api.NewError(api.CodeNotReady, "%s is stopping", base)
		return nil, judge(e), e
	case errors.Is(err, socket.ErrUnsent):
		return nil, unsent, unreachable(err, "no server answers at %s", base)
	case err != nil:
		return nil, unknown, unreachable(err, "the connection to %s broke", base)
	}
	api.SetCluster(ctx, from.Cluster)
	if a.Index > 0 {
		api.SetIndex(ctx, a.Index)
	}
	if a.Status < http.StatusMultipleChoices {
		api.SetBody(ctx, a.Body)
		return &reply{status: a.Status, body: a.Body}, final, nil
	}
	e := readProblem(a.Status, a.Body)
	if c.renewed(bearer+from.Token, e) {
		return nil, nothing, e
	}
	return nil, judge(e), e
}
