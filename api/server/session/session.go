// Package session lets the console of a cluster sign in (SPEC A2, A7): a token is exchanged for a cookie that scripts cannot read.
//
// The cookie holds the token itself. Every node verifies tokens, so any node takes the cookie, and no node keeps anything for it; what ends a
// token (its expiry, a revocation) ends the cookie.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/stream"
)

// Path is where one signs in (POST) and out (DELETE). It is directly below the root: a cookie without a Path is for the folder of the request
// that has set it, and so also right where a proxy serves the cluster below a prefix that the node does not know.
const Path = "/session"

// Header is what a request by cookie must carry. A page of another origin cannot send it without a preflight, which nobody answers.
const Header = "Taskrt-Console"

// maxBody bounds the body of a sign-in.
const maxBody = 1<<10 + auth.MaxDevice

// Gate knows who makes a request. It is that of the handler.
type Gate interface {
	Enter(authorization, addr string) (*auth.Principal, error)
	// Guess counts an attempt from an address to get in without a token. An error says that there were too many.
	Guess(addr string) error
}

// Desk exchanges tokens for cookies.
type Desk struct {
	Gate    Gate
	Cluster func() string // the ID of the cluster, "" as long as it is not known
	Devices auth.Devices  // by whom browsers sign in at an issuer; nil: they cannot
}

// request is the body of a sign-in: by a token; or by an issuer of OpenID Connect, first without a device, then with what Devices gave.
type request struct {
	Token  string `json:"token"`
	Issuer string `json:"issuer"`
	Device string `json:"device"`
}

// Admit returns the request as if it carried the token that its cookie holds. A request that carries a token, or lacks the Header, stays as
// it is: such a cookie counts for nothing. The handshake of a stream (SPEC H5) cannot have the Header, because browsers send none that a page
// names. It has the Origin of its page instead, which package pages compares with the server's own: without one the cookie counts for nothing.
func (d *Desk) Admit(r *http.Request) *http.Request {
	if len(r.Header["Authorization"]) > 0 || r.Header.Get(Header) == "" && !ofPage(r) {
		return r
	}
	c, err := r.Cookie(d.name())
	if err != nil || !plain(c.Value) {
		return r
	}
	admitted := new(http.Request)
	*admitted = *r
	admitted.Header = r.Header.Clone()
	admitted.Header.Del("Cookie")
	admitted.Header.Set("Authorization", "Bearer "+c.Value)
	return admitted
}

// ofPage reports whether a request begins a stream for a page that says its origin.
func ofPage(r *http.Request) bool {
	return r.URL.Path == stream.Path && len(r.Header["Origin"]) == 1 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// name is the name of the cookie. Cookies do not tell ports apart, so the cookie of another cluster on the same host must have another name.
func (d *Desk) name() string {
	sum := sha256.Sum256([]byte(d.Cluster()))
	return "taskrt-" + hex.EncodeToString(sum[:4])
}

// ServeHTTP signs in and out. Requests of other origins do not come here (package pages); the Header is asked for all the same.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodDelete:
		h.Set("Allow", "DELETE, POST")
		refuse(w, api.NewError(api.CodeMethodNotAllowed, "%.20s is not possible here; use DELETE or POST", r.Method))
	case r.Header.Get(Header) == "":
		refuse(w, api.NewError(api.CodeBadRequest, "the header %s is missing: this is for the console", Header))
	case r.Method == http.MethodDelete:
		http.SetCookie(w, d.cookie(r, "", -1))
		w.WriteHeader(http.StatusNoContent)
	default:
		if err := d.signIn(w, r); err != nil {
			refuse(w, err)
		}
	}
}

// signIn sets the cookie if the token holds now.
func (d *Desk) signIn(w http.ResponseWriter, r *http.Request) error {
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); media != "application/json" {
		return api.NewError(api.CodeUnsupportedMedia, "the body must be application/json")
	}
	var in request
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return api.NewError(api.CodeInvalidJSON, `the body must be {"token": "trt_…"}`) // without the decoder's words, which may quote it
	}
	if in.Issuer != "" && in.Token == "" {
		return d.byIssuer(w, r, &in)
	}
	if !plain(in.Token) {
		return auth.Unauthenticated()
	}
	if _, err := d.Gate.Enter("Bearer "+in.Token, r.RemoteAddr); err != nil {
		return err
	}
	http.SetCookie(w, d.cookie(r, in.Token, 0))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// byIssuer begins a sign-in at an issuer, or goes on with it: 202 says that nobody has confirmed the code so far. The token of the session goes
// into the cookie, and no page sees it, nor the issuer's.
func (d *Desk) byIssuer(w http.ResponseWriter, r *http.Request, in *request) error {
	if d.Devices == nil {
		return api.NewError(api.CodeIssuerNotFound, "nobody signs in here by an issuer")
	}
	if err := d.Gate.Guess(r.RemoteAddr); err != nil {
		return err
	}
	if in.Device == "" {
		begun, err := d.Devices.BeginDevice(r.Context(), in.Issuer)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(begun)
	}
	made, err := d.Devices.FinishDevice(r.Context(), in.Issuer, in.Device)
	switch {
	case err != nil:
		return err
	case made == nil:
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	http.SetCookie(w, d.cookie(r, made.Credential, 0))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// cookie ends with the browser's session; what it holds ends when the token does. Without a Path it is for the folder of Path.
func (d *Desk) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: d.name(), Value: value, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
}

// plain reports whether a text may be a token, and so may stand in a cookie and in a header.
func plain(text string) bool {
	return len(text) > 4 && len(text) <= 256 && strings.HasPrefix(text, "trt_") && strings.IndexFunc(text, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0
}

// refuse writes an error as problem+json (RFC 9457).
func refuse(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		e = api.NewError(api.CodeInternal, "the sign-in failed inside the server")
	}
	e = e.Complete()
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	if e.RetryMS > 0 {
		h.Set("Retry-After", strconv.FormatInt((e.RetryMS+999)/1000, 10))
	}
	if e.Status == http.StatusUnauthorized {
		h.Set("Connection", "close")
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(e)
}
