package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/taskrt/taskrt/api/snapshot"
)

// Snapshots saves backups of a cluster over HTTP (SPEC C8). It is safe for concurrent use.
type Snapshots struct{ client *Client }

var _ snapshot.Snapshots = (*Snapshots)(nil)

// NewSnapshots saves backups through a Client, which the caller keeps open and closes.
func NewSnapshots(c *Client) *Snapshots { return &Snapshots{c} }

// Save implements snapshot.Snapshots. The bytes are not looked at: package backup tells a whole backup from one that broke off.
func (s *Snapshots) Save(ctx context.Context, r snapshot.SaveRequest) (io.ReadCloser, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	q := url.Values{"rate": {strconv.FormatInt(r.Rate, 10)}}
	if r.WithoutBlobs {
		q.Set("without_blobs", "true")
	}
	if r.AllowMissing {
		q.Set("allow_missing", "true")
	}
	body, cancel, err := s.client.openStream(ctx, "/v1/snapshot?"+q.Encode())
	if err != nil {
		return nil, err
	}
	return &cancelling{body, cancel}, nil
}

// Holds implements snapshot.Snapshots.
func (s *Snapshots) Holds(ctx context.Context) (*snapshot.HoldsReply, error) {
	var answer snapshot.HoldsReply
	if _, err := s.client.do(ctx, call{method: http.MethodGet, path: "/v1/snapshot/holds"}, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Begin implements snapshot.Snapshots.
func (s *Snapshots) Begin(ctx context.Context) (*snapshot.BeginReply, error) {
	var answer snapshot.BeginReply
	if _, err := s.client.do(ctx, call{method: http.MethodPost, path: "/v1/snapshot/begin", resend: true}, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// cancelling is a body whose request ends when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (c *cancelling) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}
