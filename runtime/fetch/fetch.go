// Package fetch makes the HTTP requests of guests, within the rules that an operator has set (SPEC B6).
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// These are the errors of Do. Each is wrapped in an error that says more.
var (
	ErrDenied  = errors.New("not allowed") // no rule allows it, or the address is private
	ErrInvalid = errors.New("not a request")
	ErrTooBig  = errors.New("over a limit")
	ErrFailed  = errors.New("failed") // the network, or the other side
)

// Rule allows requests. A request that is within no rule is denied.
type Rule struct {
	Hosts            []string       // "api.example.com", "*.example.com", "*", each with ":port", else the scheme's own port
	Schemes          []string       // https, http
	Methods          []string       // upper case
	Private          []netip.Prefix // addresses that are allowed though they are not public
	MaxRequestBytes  int64          // of the body
	MaxResponseBytes int64          // of the body
	Timeout          time.Duration  // of the whole exchange
}

// Request is a guest's request.
type Request struct {
	Method string
	URL    string
	Header map[string]string
	Body   []byte
}

// Response is the answer to a guest's request. Redirects are not followed: they are responses like others.
type Response struct {
	Status int
	Header map[string][]string // names in canonical form
	Body   []byte
}

// Client makes requests. It keeps the connections of one rule apart from those of other rules. The zero value works.
type Client struct {
	mu         sync.Mutex
	transports map[*Rule]*http.Transport
	resolver   *net.Resolver // nil: the system's
}

// Close closes idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	clear(c.transports)
}

// These bound the head of a request and of a response.
const (
	maxURL          = 8 << 10
	maxHeaders      = 100
	maxHeaderBytes  = 16 << 10
	maxResponseHead = 64 << 10
)

// Do makes a request within the first of the rules that allows it.
func (c *Client) Do(ctx context.Context, rules []*Rule, q *Request) (*Response, error) {
	u, err := checked(q)
	if err != nil {
		return nil, err
	}
	rule, err := find(rules, q.Method, u)
	if err != nil {
		return nil, err
	}
	if n := int64(len(q.Body)); n > rule.MaxRequestBytes {
		return nil, fmt.Errorf("%w: the body has %d bytes, at most %d", ErrTooBig, n, rule.MaxRequestBytes)
	}
	ctx, cancel := context.WithTimeout(ctx, rule.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, q.Method, u.String(), bytes.NewReader(q.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	req.Header.Set("User-Agent", "taskrt")
	for name, value := range q.Header {
		req.Header.Set(name, value)
	}
	res, err := c.transport(rule).RoundTrip(req)
	if err != nil {
		return nil, failure(u.Host, err)
	}
	defer res.Body.Close()
	// After a 101 the connection would be ours, and reading from it would end neither with ctx nor by the timeout.
	if res.StatusCode < 200 || res.StatusCode > 599 {
		return nil, fmt.Errorf("%w: the answer has status %d", ErrFailed, res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, rule.MaxResponseBytes+1))
	switch {
	case err != nil:
		return nil, failure(u.Host, err)
	case int64(len(body)) > rule.MaxResponseBytes:
		return nil, fmt.Errorf("%w: the response has more than %d bytes", ErrTooBig, rule.MaxResponseBytes)
	}
	return &Response{res.StatusCode, res.Header, body}, nil
}

// failure says what a guest may know of an error. It tells nothing of the network that the request did not name, such
// as which address a name has inside, or which server resolves it.
func failure(host string, err error) error {
	if errors.Is(err, ErrDenied) {
		return fmt.Errorf("%w: %.300s has no public address", ErrDenied, host)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("%w: %.300s: %s", ErrFailed, host, dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w: %s %.300s: %w", ErrFailed, op.Op, host, op.Err)
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// ours are headers that the client sets by itself: they frame the message, or speak to the next hop.
var ours = []string{
	"Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checked checks a request as far as this does not depend on rules.
func checked(q *Request) (*url.URL, error) {
	if len(q.URL) > maxURL {
		return nil, fmt.Errorf("%w: url has %d bytes, at most %d", ErrInvalid, len(q.URL), maxURL)
	}
	u, err := url.Parse(q.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: url: %w", ErrInvalid, errors.Unwrap(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return nil, fmt.Errorf("%w: url: must begin with http:// or https://", ErrInvalid)
	case u.User != nil:
		return nil, fmt.Errorf("%w: url: credentials belong into a header", ErrInvalid)
	case !plainHost(u.Hostname()):
		return nil, fmt.Errorf("%w: url: the host must be a name of letters, digits, '.', '_' and '-', or an address", ErrInvalid)
	case len(q.Header) > maxHeaders:
		return nil, fmt.Errorf("%w: headers: %d, at most %d", ErrInvalid, len(q.Header), maxHeaders)
	}
	u.Fragment = ""
	size := 0
	for _, name := range slices.Sorted(maps.Keys(q.Header)) {
		size += len(name) + len(q.Header[name])
		switch {
		case !token(name) || strings.ContainsFunc(q.Header[name], func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			return nil, fmt.Errorf("%w: headers: %.50q is no name, or its value has control characters", ErrInvalid, name)
		case slices.Contains(ours, http.CanonicalHeaderKey(name)):
			return nil, fmt.Errorf("%w: headers: %s is not yours to set", ErrInvalid, http.CanonicalHeaderKey(name))
		}
	}
	if size > maxHeaderBytes {
		return nil, fmt.Errorf("%w: headers: %d bytes, at most %d", ErrInvalid, size, maxHeaderBytes)
	}
	return u, nil
}

// token tells whether s is a token of RFC 9110.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

func plainHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return !strings.Contains(host, "%")
	}
	for _, c := range []byte(host) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return host != "" && len(host) <= 253
}

// find returns the first rule that allows a request.
func find(rules []*Rule, method string, u *url.URL) (*Rule, error) {
	host := false
	for _, r := range rules {
		if !r.allows(u) {
			continue
		}
		host = true
		if slices.Contains(r.Methods, method) {
			return r, nil
		}
	}
	if host {
		return nil, fmt.Errorf("%w: method %.20q of %s", ErrDenied, method, u.Host)
	}
	return nil, fmt.Errorf("%w: %s://%.300s", ErrDenied, u.Scheme, u.Host)
}

func (r *Rule) allows(u *url.URL) bool {
	if !slices.Contains(r.Schemes, u.Scheme) {
		return false
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	port := u.Port()
	if port == "" {
		port = portOf(u.Scheme)
	}
	for _, pattern := range r.Hosts {
		want, wantPort, ok := cutPort(pattern)
		if !ok {
			wantPort = portOf(u.Scheme)
		}
		if port == wantPort && hostMatches(want, name) {
			return true
		}
	}
	return false
}

func portOf(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// cutPort splits a pattern of Rule.Hosts. An IPv6 address stands in brackets.
func cutPort(pattern string) (host, port string, ok bool) {
	if h, p, err := net.SplitHostPort(pattern); err == nil {
		return h, p, true
	}
	return strings.TrimSuffix(strings.TrimPrefix(pattern, "["), "]"), "", false
}

func hostMatches(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok { // *.example.com: any name below it
		return strings.HasSuffix(name, suffix) && len(name) > len(suffix)
	}
	return pattern == name
}

// maxTransports bounds the rules whose connections are kept. What is under way on a connection goes on when it is forgotten.
const maxTransports = 4096

// transport returns the rule's own transport: the connections that it keeps open were dialed under this rule.
func (c *Client) transport(r *Rule) *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[r]; t != nil {
		return t
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Resolver: c.resolver, Control: func(_, address string, _ syscall.RawConn) error {
		return r.reaches(address)
	}}
	t := &http.Transport{
		DialContext: dialer.DialContext, Proxy: nil, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxResponseHead, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns: 16, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
	}
	if len(c.transports) >= maxTransports { // rules come and go when a file of rules is read again
		for _, old := range c.transports {
			old.CloseIdleConnections()
		}
		clear(c.transports)
	}
	if c.transports == nil {
		c.transports = map[*Rule]*http.Transport{}
	}
	c.transports[r] = t
	return t
}

// reaches says whether a connection to an address is allowed. It is asked with the very address to which the client
// is about to connect, so it does not matter what a name resolved to before, or will resolve to later.
func (r *Rule) reaches(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrDenied, address)
	}
	addr := ap.Addr().Unmap().WithZone("")
	for _, p := range r.Private {
		if p.Contains(addr) {
			return nil
		}
	}
	if !public(addr) {
		return fmt.Errorf("%w: %s is not a public address", ErrDenied, addr)
	}
	return nil
}

// notPublic are networks of the IANA's special-purpose registries that netip does not know by a method, and networks that
// lead to IPv4 addresses in other ways.
var notPublic = func() (ps []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}()

func public(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}
