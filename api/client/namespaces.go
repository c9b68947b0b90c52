package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

func namespaceURL(name string) string { return "/v1/namespaces/" + url.PathEscape(name) }

// Namespaces implements Service.
func (c *Client) Namespaces(ctx context.Context) ([]api.Namespace, error) {
	var answer codec.NamespacesAnswer
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/namespaces"}, &answer)
	return answer.Namespaces, err
}

// Namespace implements Service.
func (c *Client) Namespace(ctx context.Context, name string) (*api.Namespace, error) {
	if err := api.CheckNamespaceName(name); err != nil {
		return nil, err
	}
	var answer codec.NamespaceAnswer
	_, err := c.do(ctx, call{method: http.MethodGet, path: namespaceURL(name)}, &answer)
	return answer.Namespace, err
}

// CreateNamespace implements Service.
func (c *Client) CreateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.CheckNew(); err != nil {
		return nil, err
	}
	var answer codec.NamespaceAnswer
	_, err := c.post(ctx, "/v1/namespaces", nil, s, &answer, false)
	return answer.Namespace, err
}

// UpdateNamespace implements Service. It may be sent again.
func (c *Client) UpdateNamespace(ctx context.Context, s api.NamespaceSettings) (*api.Namespace, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var answer codec.NamespaceAnswer
	_, err := c.do(ctx, call{
		method: http.MethodPatch, path: namespaceURL(s.Name), contentType: codec.JSONMedia, body: codec.Encode(s), resend: true,
	}, &answer)
	return answer.Namespace, err
}

// SetNamespaceStatus implements Service. It may be sent again.
func (c *Client) SetNamespaceStatus(ctx context.Context, name, status string) (*api.Namespace, error) {
	if err := api.CheckNamespaceName(name); err != nil {
		return nil, err
	}
	if err := api.CheckStatus(status); err != nil {
		return nil, err
	}
	action := map[string]string{api.NamespaceActive: "activate", api.NamespaceInactive: "deactivate", api.NamespacePurging: "purge"}[status]
	var answer codec.NamespaceAnswer
	_, err := c.post(ctx, namespaceURL(name)+"/"+action, nil, struct{}{}, &answer, true)
	return answer.Namespace, err
}

// ExportNamespace implements Service. The reader checks the lines as they pass: its error is io.EOF only after the end of a
// whole export.
func (c *Client) ExportNamespace(ctx context.Context, r api.ExportRequest) (io.ReadCloser, error) {
	if err := api.CheckNamespaceName(r.Name); err != nil {
		return nil, err
	}
	target := namespaceURL(r.Name) + "/export"
	if r.Raw {
		target += "?raw=true"
	}
	body, cancel, err := c.openStream(ctx, target)
	if err != nil {
		return nil, err
	}
	return &exportBody{body: body, cancel: cancel}, nil
}

// openStream gets an answer of any length. cancel ends the request.
func (c *Client) openStream(ctx context.Context, target string) (body io.ReadCloser, cancel context.CancelFunc, err error) {
	ctx, cancel = context.WithCancel(ctx)
	err = c.stream(ctx, false, func(base *url.URL) (sent bool, err error) {
		silence := time.AfterFunc(c.config.AttemptTimeout, cancel)
		defer silence.Stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.String()+target, nil)
		if err != nil {
			return false, fmt.Errorf("make request: %w", err)
		}
		res, err := c.send(req)
		if err != nil {
			return false, unreachable(err, "no server answers at %s", base)
		}
		if res.StatusCode == http.StatusOK {
			body = res.Body
			return true, nil
		}
		return false, problemOf(res)
	})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return body, cancel, nil
}

// exportBody passes lines on, and checks that the last line is the end of an export.
type exportBody struct {
	body   io.ReadCloser
	cancel context.CancelFunc
	line   []byte // the beginning of the last line that is not empty
	ended  bool   // whether this line has ended
}

// lineHead is how many bytes of a line exportBody keeps. A line with an error is shorter.
const lineHead = 4 << 10

// Read implements io.Reader.
func (b *exportBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		part, more, found := bytes.Cut(rest, []byte{'\n'})
		if len(part) > 0 {
			if b.ended {
				b.line, b.ended = b.line[:0], false
			}
			b.line = append(b.line, part[:min(len(part), lineHead-len(b.line))]...)
		}
		b.ended = b.ended || found
		rest = more
	}
	switch {
	case errors.Is(err, io.EOF):
		return n, b.whole()
	case err != nil:
		if failed := b.whole(); api.CodeOf(failed) == api.CodeInternal { // the last line says why
			return n, failed
		}
		return n, fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, "the export broke off"), err)
	}
	return n, nil
}

// whole returns io.EOF if the last line is the end of an export; else an error that says what is wrong.
func (b *exportBody) whole() error {
	var last struct {
		End   json.RawMessage `json:"end"`
		Error *struct {
			Reason string `json:"reason"`
		} `json:"error"`
	}
	_ = json.Unmarshal(b.line, &last) // this fails for a long line, which is neither the end nor an error
	switch {
	case last.End != nil:
		return io.EOF
	case last.Error != nil:
		return api.NewError(api.CodeInternal, "the export failed: %s", last.Error.Reason)
	}
	return api.NewError(CodeUnreachable, "the export broke off: its last line is missing")
}

// Close implements io.Closer.
func (b *exportBody) Close() error {
	b.cancel()
	return b.body.Close()
}

// ImportNamespace implements Service. A Body that can seek is sent again, from where it stood, if a node could not be reached,
// said that it does not serve now, or went away. The second time, what was taken up already is left alone.
func (c *Client) ImportNamespace(ctx context.Context, r api.ImportRequest) (*api.ImportReply, error) {
	if err := api.CheckNamespaceName(r.Name); err != nil {
		return nil, err
	}
	var answer api.ImportReply
	err := c.sendBody(ctx, r.Body, func(base *url.URL, body *sentBody) error { return c.importOnce(ctx, base, r, body, &answer) })
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

func (c *Client) importOnce(ctx context.Context, base *url.URL, r api.ImportRequest, body *sentBody, answer *api.ImportReply) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	target := base.String() + namespaceURL(r.Name) + "/import"
	if r.Rehash {
		target += "?rehash=true"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, body)
	if err != nil {
		return errors.Join(fmt.Errorf("make request: %w", err), body.Close())
	}
	req.Body = c.counted(req.Body)
	req.Header.Set("Content-Type", codec.LinesMedia)
	return c.exchangeBody(req, base, body, answer)
}
