package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// putPatience is how long a node may take, beyond AttemptTimeout, to store a file that it has received.
const putPatience = 60 * time.Second

// maxBreaks is how often in a row a download goes on after it broke off before any new byte had come.
const maxBreaks = 5

// PutBlob implements Service. A Body that can seek is sent again, from where it stood, if this may help: to store a file twice
// is the same as to store it once.
func (c *Client) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	if _, err := r.Check(); err != nil {
		return nil, err
	}
	var answer codec.BlobAnswer
	err := c.sendBody(ctx, r.Body, func(base *url.URL, body *sentBody) error { return c.putOnce(ctx, base, &r, body, &answer) })
	return answer.Blob, err
}

func (c *Client) putOnce(ctx context.Context, base *url.URL, r *api.PutBlobRequest, body *sentBody, answer *codec.BlobAnswer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(c.config.AttemptTimeout+putPatience, cancel)
	defer silence.Stop()
	target := base.String() + "/v1/blobs"
	if r.Digest != "" {
		target += "?digest=" + url.QueryEscape(r.Digest)
	}
	body.moves = func() { silence.Reset(c.config.AttemptTimeout + putPatience) }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return errors.Join(fmt.Errorf("make request: %w", err), body.Close())
	}
	req.Body = c.counted(req.Body)
	if req.ContentLength = r.Size; r.Size == 0 {
		req.Body = http.NoBody
		_ = body.Close()
	}
	req.Header.Set("Content-Type", codec.BytesMedia)
	return c.exchangeBody(req, base, body, answer)
}

// Blob implements Service.
func (c *Client) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	hex, err := api.ParseDigest("digest", digest)
	if err != nil {
		return nil, err
	}
	var answer codec.BlobAnswer
	_, err = c.do(ctx, call{method: http.MethodGet, path: blobURL(hex) + "/info"}, &answer)
	return answer.Blob, err
}

func blobURL(hex string) string { return "/v1/blobs/" + api.ShowDigest(hex) }

// BlobContent implements Service. A download that breaks off goes on, from another node if need be. A download of a whole blob
// is checked against the digest: the reader's error is io.EOF only if the bytes are right.
func (c *Client) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	want, err := r.Check()
	if err != nil {
		return nil, err
	}
	b := &download{c: c, ctx: ctx, digest: want, at: r.From, end: -1}
	if r.Length >= 0 {
		b.end = r.From + r.Length
	}
	if r.From == 0 && r.Length < 0 {
		b.sum = sha256.New()
	}
	if err := b.open(); err != nil {
		return nil, err
	}
	return &api.BlobContent{Size: b.size, From: r.From, Body: b}, nil
}

// download is the body of a blob, or of a range of a blob.
type download struct {
	c      *Client
	ctx    context.Context
	digest string
	at     int64 // where the next byte lies in the blob
	end    int64 // where the download ends; -1: at the end of the blob
	size   int64
	sum    hash.Hash // of the whole blob; nil: this is a range

	body   io.ReadCloser
	cancel context.CancelFunc
	alive  *time.Timer // ends an exchange in which nothing comes
	breaks int         // how often it broke off since a byte came
}

// open asks for the rest of the download.
func (d *download) open() error {
	return d.c.stream(d.ctx, false, func(base *url.URL) (sent bool, err error) {
		ctx, cancel := context.WithCancel(d.ctx)
		alive := time.AfterFunc(d.c.config.AttemptTimeout, cancel)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+blobURL(d.digest), nil)
		if err == nil {
			err = d.start(req, base)
		} else {
			err = fmt.Errorf("make request: %w", err)
		}
		if err != nil {
			alive.Stop()
			cancel()
			return false, err
		}
		d.cancel, d.alive = cancel, alive
		return true, nil
	})
}

func (d *download) start(req *http.Request, base *url.URL) error {
	switch {
	case d.end >= 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", d.at, d.end-1))
	case d.at > 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
	}
	res, err := d.c.send(req)
	if err != nil {
		return unreachable(err, "no server answers at %s", base)
	}
	size := res.ContentLength
	switch res.StatusCode {
	case http.StatusOK:
		if d.at > 0 { // an empty blob has no ranges
			_ = res.Body.Close()
			return api.NewError(api.CodeInternal, "%s answers without the range that it was asked for", base)
		}
	case http.StatusPartialContent:
		_, total, _ := strings.Cut(res.Header.Get("Content-Range"), "/")
		if size, err = strconv.ParseInt(total, 10, 64); err != nil {
			_ = res.Body.Close()
			return api.NewError(api.CodeInternal, "%s answers with the range %.100q", base, res.Header.Get("Content-Range"))
		}
	default:
		return problemOf(res)
	}
	noteIndex(d.ctx, res)
	if d.body, d.size = res.Body, size; d.end < 0 || d.end > size {
		d.end = size
	}
	return nil
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for {
		if d.at >= d.end {
			return 0, d.whole()
		}
		d.alive.Reset(d.c.config.AttemptTimeout)
		n, err := d.body.Read(p[:min(int64(len(p)), d.end-d.at)])
		if n > 0 {
			d.at, d.breaks = d.at+int64(n), 0
			if d.sum != nil {
				_, _ = d.sum.Write(p[:n])
			}
			return n, nil
		}
		if err == nil {
			continue
		}
		if d.ctx.Err() != nil {
			return 0, fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the download broke off"), context.Cause(d.ctx))
		}
		if d.breaks++; d.breaks > maxBreaks {
			return 0, fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the download broke off at byte %d of %d", d.at, d.size), err)
		}
		_ = d.Close()
		if err := d.open(); err != nil {
			return 0, err
		}
	}
}

// whole returns io.EOF if the bytes that were read are the bytes that were asked for; else an error.
func (d *download) whole() error {
	if d.sum != nil && hex.EncodeToString(d.sum.Sum(nil)) != d.digest {
		return api.NewError(api.CodeDigestMismatch, "what came has another digest than sha256:%s", d.digest)
	}
	return io.EOF
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.alive.Stop()
	d.cancel()
	return d.body.Close()
}
