// Package transport lets net/http, and libraries that take an *http.Client, make the requests of a guest:
//
//	client := &http.Client{Transport: transport.New()}
//
// They are requests of package sdkhttp, within the rules that the operator has set. The client follows redirects; each is a
// request that the host checks. Package transport adds 8 MB to a guest; package sdkhttp alone does not.
package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp"
)

// Transport is an http.RoundTripper over package sdkhttp. Both bodies are in memory as a whole. The guest stands still during a
// request. The timeout of the operator's rule ends the request; a context or a Client.Timeout ends it only before it begins.
// An error has an *sdkhttp.Error in it, for errors.As and errors.Is.
type Transport struct{}

var _ http.RoundTripper = (*Transport)(nil)

// New returns a Transport.
func New() *Transport { return &Transport{} }

// RoundTrip implements http.RoundTripper.
func (*Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := request(r)
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res, err := sdkhttp.Do(q)
	if err != nil {
		return nil, err
	}
	return response(r, res), nil
}

// request closes the body in any case, as an http.RoundTripper must.
func request(r *http.Request) (q sdkhttp.Request, err error) {
	if r.Body != nil {
		defer r.Body.Close()
		if q.Body, err = io.ReadAll(r.Body); err != nil {
			return q, err
		}
	}
	if r.Host != "" && r.Host != strings.TrimSuffix(r.URL.Host, ":") {
		return q, &sdkhttp.Error{Err: sdk.ErrInvalid, Reason: fmt.Sprintf("the host is the URL's, %s, not %s", r.URL.Host, r.Host)}
	}
	q.Method, q.URL = r.Method, address(r.URL)
	q.Headers = make(map[string]string, len(r.Header))
	for name, values := range r.Header {
		separator := ", "
		if http.CanonicalHeaderKey(name) == "Cookie" {
			separator = "; "
		}
		q.Headers[name] = strings.Join(values, separator)
	}
	return q, nil
}

// address is the URL without the credentials: the client has made a header of them.
func address(u *url.URL) string {
	plain := *u
	plain.User = nil
	return plain.String()
}

func response(r *http.Request, res *sdkhttp.Response) *http.Response {
	to := &http.Response{
		Status: strings.TrimSpace(strconv.Itoa(res.Status) + " " + http.StatusText(res.Status)), StatusCode: res.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: res.Headers, Request: r,
		Body: io.NopCloser(bytes.NewReader(res.Body)), ContentLength: int64(len(res.Body)),
	}
	if r.Method == http.MethodHead { // as the server would have sent it
		if n, err := strconv.ParseInt(to.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			to.ContentLength = n
		} else {
			to.ContentLength = -1
		}
	}
	return to
}
