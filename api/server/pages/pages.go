// Package pages keeps web pages out of a server that programs may use without a password (SPEC A6).
//
// A page in a browser on the same machine or network reaches such a server in two ways. It sends requests to another origin than its own,
// or it rebinds its own name: the DNS server of the page's name answers with the address of the taskrt server, and the browser takes both
// for one origin. A Door refuses both. Programs send none of the headers that a Door looks at but Host.
package pages

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/taskrt/taskrt/api"
)

// These bound what an operator may say.
const (
	MaxNames = 64
	maxName  = 253 // RFC 1035, 2.3.4, without the dot at the end
)

// Door decides which requests may pass. The zero Door answers to loopback names and to addresses.
type Door struct {
	names map[string]bool
}

// NewDoor makes a Door that also answers to these names, which CheckName accepts.
func NewDoor(names ...string) Door {
	d := Door{names: map[string]bool{}}
	for _, name := range names {
		d.names[canonical(name)] = true
	}
	return d
}

// CheckName says why a text is no name or address of a host.
func CheckName(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%.40q is no name of a host: 1 to %d bytes", name, maxName)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, letters) != "" {
			return fmt.Errorf("%.100q is no name of a host: letters, digits, - and _ between dots, no scheme and no port", name)
		}
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// Check returns why a request is refused: an *api.Error, or nil.
func (d Door) Check(r *http.Request) error {
	// Over TLS the browser has compared the page's name with the certificate. A rebound name fails there.
	if r.TLS == nil && !d.answersTo(r.Host) {
		return api.NewError(api.CodeUnknownHost, "%.200q is no name of this server: use its address, or a name that its operator has given by --http-host", r.Host)
	}
	if crossOrigin(r) {
		return api.NewError(api.CodeCrossOrigin, "a web page of another origin must not ask this server for anything")
	}
	return nil
}

// answersTo reports whether a Host header names this server. To rebind needs a name, so every address is fine. A page cannot leave the
// header out, so a client that does is no page.
func (d Door) answersTo(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		name = h
	}
	if _, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")); err == nil {
		return true
	}
	name = canonical(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || d.names[name]
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// browser is what http.CrossOriginProtection decides by.
const (
	fetchSite = "Sec-Fetch-Site"
	origin    = "Origin"
)

// crossOrigin reports whether a browser says that it sends a request for a page of another origin. The rule is that of net/http, which
// lets GET, HEAD and OPTIONS pass. This server does not: see RATIONALE.md.
func crossOrigin(r *http.Request) bool {
	if len(r.Header[fetchSite]) == 0 && len(r.Header[origin]) == 0 {
		return false
	}
	asked := &http.Request{Method: http.MethodPost, URL: r.URL, Host: r.Host, Header: r.Header}
	return new(http.CrossOriginProtection).Check(asked) != nil
}

// policy is the Cross-Origin-Resource-Policy of every answer.
var policy = []string{"same-origin"}

// Mark tells browsers not to hand an answer to pages of other origins. It covers requests of which a browser does not say where they come
// from: a picture or a script by plain HTTP from an address that is not loopback carries neither Sec-Fetch-Site nor Origin.
func Mark(h http.Header) { h["Cross-Origin-Resource-Policy"] = policy }

// Keep puts the Door before a handler that knows no problems (RFC 9457).
func (d Door) Keep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Mark(w.Header())
		if err := d.Check(r); err != nil {
			http.Error(w, err.Error(), api.StatusOf(api.CodeOf(err)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Visit lets a page of this server be opened by a link on a page of another origin, in a tab of its own: what the page is to show it asks for itself,
// as the same origin. The page of the link gets nothing of it (Cross-Origin-Opener-Policy, frame-ancestors).
func Visit(r *http.Request) *http.Request {
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
		return r
	}
	typed := new(http.Request)
	*typed = *r
	typed.Header = r.Header.Clone()
	typed.Header.Set("Sec-Fetch-Site", "none")
	typed.Header.Del("Origin")
	return typed
}
