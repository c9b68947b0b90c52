package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// Push implements Service. It reads the file into memory, so that the file can be sent again.
func (c *Client) Push(ctx context.Context, r api.PushRequest) (*api.Module, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	wasm, err := io.ReadAll(io.LimitReader(r.Wasm, api.MaxModule+1))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	if len(wasm) > api.MaxModule {
		return nil, api.LimitError("", api.MaxModule, "the body is larger than %d bytes", api.MaxModule)
	}
	k := call{method: http.MethodPost, path: "/v1/modules", query: inNamespace(r.Namespace), contentType: "application/wasm", body: wasm, resend: true}
	setText(k.query, "name", r.Name)
	if r.Manifest != nil {
		if k.body, k.contentType, err = withManifest(wasm, r.Manifest); err != nil {
			return nil, err
		}
	}
	k.wait = slowWait
	var answer codec.ModuleAnswer
	if _, err := c.do(ctx, k, &answer); err != nil {
		return nil, err
	}
	return answer.Module, nil
}

// withManifest makes a multipart body, because a manifest may be longer than a URL.
func withManifest(wasm []byte, manifest json.RawMessage) (body []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	sum := sha256.Sum256(append(manifest[:len(manifest):len(manifest)], wasm...))
	if err := w.SetBoundary(hex.EncodeToString(sum[:])); err != nil { // so that the body is the same every time: see WithIdempotencyKey
		return nil, "", fmt.Errorf("make multipart body: %w", err)
	}
	for _, part := range []struct {
		name string
		data []byte
	}{{"manifest", manifest}, {"module", wasm}} {
		p, err := w.CreateFormFile(part.name, part.name)
		if err != nil {
			return nil, "", fmt.Errorf("make multipart body: %w", err)
		}
		if _, err := p.Write(part.data); err != nil {
			return nil, "", fmt.Errorf("make multipart body: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("make multipart body: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// Modules implements Service.
func (c *Client) Modules(ctx context.Context, namespace string) ([]api.Module, error) {
	var answer codec.ModulesAnswer
	err := c.read(ctx, "/v1/modules", inNamespace(namespace), &answer)
	return answer.Modules, err
}

// Module implements Service.
func (c *Client) Module(ctx context.Context, namespace, digest string) (*api.Module, error) {
	var answer codec.ModuleAnswer
	err := c.read(ctx, "/v1/modules/"+url.PathEscape(digest), inNamespace(namespace), &answer)
	return answer.Module, err
}
