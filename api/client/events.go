package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client/internal/events"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// eventSilence is how long a stream may send nothing, not even a heartbeat, before another node is asked.
const eventSilence = 3 * codec.EventHeartbeat

// Events implements Service. A stream that breaks goes on at another node, from where it broke off. No event is missed or
// repeated, except that the states after a reset may begin anew. After Config.RetryFor without an answer the client gives up,
// and Next returns the error.
func (c *Client) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return follow(ctx, c, "/v1/events", eventsQuery(&r), events.Place{Last: r.After, Known: r.HasAfter})
}

// follow begins a stream, and goes on with it at whichever node answers.
func follow(ctx context.Context, c *Client, path string, query url.Values, from events.Place) (api.EventStream, error) {
	s, err := events.Follow(ctx, from, func(ctx context.Context, from events.Place) (body io.ReadCloser, err error) {
		err = c.stream(ctx, true, func(base *url.URL) (sent bool, err error) {
			body, err = openEvents(ctx, c, base.String()+path+"?"+query.Encode(), base, from)
			return false, err
		})
		return body, err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openEvents(ctx context.Context, c *Client, target string, base *url.URL, from events.Place) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	silence := time.AfterFunc(c.config.AttemptTimeout, cancel)
	end := func() { silence.Stop(); cancel() }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		end()
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", codec.EventMedia)
	if from.Known {
		req.Header.Set(codec.LastEventID, strconv.FormatUint(from.Last, 10))
	}
	res, err := c.send(req)
	if err != nil {
		end()
		return nil, unreachable(err, "no server answers at %s", base)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && media == codec.EventMedia {
		return &liveBody{res.Body, silence, end}, nil
	}
	defer end()
	return nil, problemOf(res)
}

func eventsQuery(r *api.EventsRequest) url.Values {
	q := inNamespace(r.Namespace)
	setText(q, "behavior", r.Behavior)
	setText(q, "parent", r.Parent)
	setText(q, "status", r.Status)
	for _, id := range r.IDs {
		q.Add("id", id)
	}
	return q
}

// liveBody is the body of a stream. It is given up if nothing comes for a while.
type liveBody struct {
	io.ReadCloser
	silence *time.Timer
	end     func()
}

func (b *liveBody) Read(p []byte) (int, error) {
	b.silence.Reset(eventSilence)
	return b.ReadCloser.Read(p)
}

func (b *liveBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
