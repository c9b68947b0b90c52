package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// bearer is how a token stands in a header.
const bearer = "Bearer "

// StaticToken is a Config.Token that stays the same.
func StaticToken(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

// ownError is why the client sends no request, or takes no answer. To ask another node does not help.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }

// unreachable says that a node cannot be asked, or why nobody is asked. format has a place for the node's URL.
func unreachable(err error, format string, base *url.URL) error {
	if own, ok := errors.AsType[*ownError](err); ok {
		return own.err
	}
	return fmt.Errorf("%w: %w", api.NewError(CodeUnreachable, format, base), err)
}

// send sends a request with the client's token, and looks at which cluster answers. All requests of a client go through it.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.config.Cluster != "" {
		req.Header.Set(codec.ClusterHeader, c.config.Cluster)
	}
	token, err := ownToken(c)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", bearer+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if err := c.checkCluster(res); err != nil {
		_ = res.Body.Close()
		return nil, &ownError{err}
	}
	return res, nil
}

// checkCluster refuses the answer of another cluster than the one that is meant (SPEC C2). The other one has refused the request, because the request
// named the cluster that is meant; but nobody knows what listens there.
func (c *Client) checkCluster(res *http.Response) error {
	own, from := c.config.Cluster, res.Header.Get(codec.ClusterHeader)
	switch {
	case own == "" || from == own:
		return nil
	case from != "":
		return api.NewError(api.CodeOtherCluster, "at %s is another cluster now: its ID is %.100q, not %s", res.Request.URL.Host, from, own)
	case res.StatusCode < http.StatusMultipleChoices:
		return api.NewError(api.CodeOtherCluster, "the answer of %s does not say that it is of cluster %s", res.Request.URL.Host, own)
	}
	return nil // an error, perhaps of a proxy or of a node that belongs to no cluster yet
}

// token returns what the client proves itself by; "" if it has nothing.
func (c *Client) token() (string, error) {
	if c.config.Token == nil {
		return "", nil
	}
	text, err := c.config.Token()
	if err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	if text = strings.TrimSpace(text); text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the token: it is empty, or has characters that no token has")
	}
	return text, nil
}

// ownToken is Client.token, with an ownError.
func ownToken(c *Client) (string, error) {
	token, err := c.token()
	if err != nil {
		return "", &ownError{err}
	}
	return token, nil
}

// renewed reports whether a request was refused for a token that the client has replaced meanwhile. Nothing was done for it.
// authorization is the header that the request had.
func (c *Client) renewed(authorization string, e *api.Error) bool {
	if e.Status != http.StatusUnauthorized || c.config.Token == nil {
		return false
	}
	token, err := c.token()
	return err == nil && authorization != bearer+token
}

// checkClear refuses to send a token over a network in the clear, where everybody on the way reads it.
func (c *Config) checkClear(u *url.URL) error {
	if c.Token == nil || c.TokenInClear || u.Scheme == "https" || loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not https: everybody on the way there could read the token", u.Redacted())
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// stayHere follows redirects to the same server only: another one must not get the token.
func stayHere(req *http.Request, via []*http.Request) error {
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host || len(via) >= maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 10
