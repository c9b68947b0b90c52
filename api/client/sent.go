package client

import "io"

// counted returns the body of a request with its bytes counted, for Config.Sent.
func (c *Client) counted(body io.ReadCloser) io.ReadCloser {
	if c.config.Sent == nil || body == nil {
		return body
	}
	return &countedBody{ReadCloser: body, told: c.config.Sent}
}

type countedBody struct {
	io.ReadCloser
	told func(int64)
	sent int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sent += int64(n)
	b.told(b.sent)
	return n, err
}
