package session_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server/session"
)

const token = "trt_0123456789abcdefABCDEF"

// gate knows one token.
type gate struct{}

func (gate) Enter(authorization, _ string) (*auth.Principal, error) {
	if authorization == "Bearer "+token {
		return &auth.Principal{Name: "ann"}, nil
	}
	return nil, auth.Unauthenticated()
}

func (gate) Guess(addr string) error {
	if strings.HasPrefix(addr, "10.") {
		return api.NewError(api.CodeRateLimited, "too many")
	}
	return nil
}

// devices is an issuer "corp" whose device d-1 was confirmed.
type devices struct{}

func (devices) BeginDevice(_ context.Context, issuer string) (*auth.Device, error) {
	if issuer != "corp" {
		return nil, api.NewError(api.CodeIssuerNotFound, "no issuer")
	}
	return &auth.Device{URL: "https://id.example/device", Code: "ABCD", Device: "d-1", EveryMS: 5000, UntilMS: 60_000}, nil
}

func (devices) FinishDevice(_ context.Context, _, device string) (*auth.CreatedToken, error) {
	if device != "d-1" {
		return nil, nil //nolint:nilnil // not yet
	}
	return &auth.CreatedToken{Credential: token}, nil
}

func desk(cluster string) *session.Desk {
	return &session.Desk{Gate: gate{}, Cluster: func() string { return cluster }}
}

// post signs in by a body.
func post(d *session.Desk, body string, secure bool, headers ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodPost, session.Path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(session.Header, "1")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	if secure {
		r.TLS = &tls.ConnectionState{}
	}
	d.ServeHTTP(w, r)
	return w
}

// TestCookie: a token that holds becomes a cookie that scripts cannot read, that no other site's request carries, and that travels over TLS
// only where there is TLS. It has no Path: it is for the folder of the sign-in, also below the prefix of a proxy (SPEC U1).
func TestCookie(t *testing.T) {
	for _, secure := range []bool{false, true} {
		w := post(desk("c1"), `{"token":"`+token+`"}`, secure)
		all := w.Result().Cookies()
		if w.Code != http.StatusNoContent || len(all) != 1 || w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %v", w.Code, w.Header())
		}
		c := all[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secure || c.Path != "" || c.Domain != "" || c.MaxAge != 0 || !c.Expires.IsZero() {
			t.Errorf("TLS %v: %+v", secure, c)
		}
		if other := post(desk("c2"), `{"token":"`+token+`"}`, secure).Result().Cookies()[0]; other.Name == c.Name {
			t.Errorf("two clusters on one host share the cookie %s", c.Name)
		}
	}
}

// TestRefusals: what is no token that holds leaves no cookie, and no error says it again.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		body    string
		headers []string
		code    int
	}{
		{`{"token":"trt_wrong"}`, nil, 401}, {`{"token":""}`, nil, 401}, {`{"token":"trt_a; Path=/"}`, nil, 401}, {`{"token":"trt_a\r\nX: y"}`, nil, 401},
		{`{"token":"` + "trt_" + strings.Repeat("a", 300) + `"}`, nil, 401}, {`{"token":1}`, nil, 400}, {`{"token":"a","x":1}`, nil, 400}, {``, nil, 400},
		{`{"token":"trt_` + strings.Repeat("a", 8192) + `"}`, nil, 400},
		{`{"token":"` + token + `"}`, []string{"Content-Type: text/plain"}, 415},
		{`{"token":"` + token + `"}`, []string{session.Header + ": "}, 400},
	} {
		w := post(desk("c1"), c.body, false, c.headers...)
		if w.Code != c.code || len(w.Result().Cookies()) > 0 || strings.Contains(w.Body.String(), "trt_wrong") || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.80s %v: %d %s", c.body, c.headers, w.Code, w.Body)
		}
	}
	r, w := httptest.NewRequest(http.MethodGet, session.Path, http.NoBody), httptest.NewRecorder()
	desk("c1").ServeHTTP(w, r)
	if w.Code != api.StatusOf(api.CodeMethodNotAllowed) || w.Header().Get("Allow") == "" {
		t.Errorf("GET: %d %v", w.Code, w.Header())
	}
}

// TestAdmit: a cookie counts only together with the header, which no page of another origin can send, and never beside a token.
func TestAdmit(t *testing.T) {
	d := desk("c1")
	c := post(d, `{"token":"`+token+`"}`, false).Result().Cookies()[0]
	for _, one := range []struct {
		cookie, header, authorization, want string
	}{
		{c.Name + "=" + c.Value, "1", "", "Bearer " + token},
		{c.Name + "=" + c.Value, "", "", ""},
		{"", "1", "", ""},
		{"taskrt-00000000=" + c.Value, "1", "", ""},
		{c.Name + "=" + c.Value, "1", "Bearer other", "Bearer other"},
		{c.Name + "=nonsense", "1", "", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/tasks", http.NoBody)
		for name, value := range map[string]string{"Cookie": one.cookie, session.Header: one.header, "Authorization": one.authorization} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		before := r.Header.Get("Authorization")
		if got := d.Admit(r); got.Header.Get("Authorization") != one.want || r.Header.Get("Authorization") != before {
			t.Errorf("%+v: %q", one, got.Header.Get("Authorization"))
		}
	}
}

// TestSignOut: signing out takes the cookie away.
func TestSignOut(t *testing.T) {
	r, w := httptest.NewRequest(http.MethodDelete, session.Path, http.NoBody), httptest.NewRecorder()
	r.Header.Set(session.Header, "1")
	desk("c1").ServeHTTP(w, r)
	all := w.Result().Cookies()
	if w.Code != http.StatusNoContent || len(all) != 1 || all[0].MaxAge >= 0 || all[0].Value != "" {
		t.Errorf("%d %v", w.Code, all)
	}
}

// TestByIssuer: a browser signs in at an issuer: it gets a code, waits, and then has the cookie; no answer has the token of the session (SPEC A7).
func TestByIssuer(t *testing.T) {
	d := desk("c1")
	if w := post(d, `{"issuer":"corp"}`, true); w.Code != api.StatusOf(api.CodeIssuerNotFound) {
		t.Errorf("without issuers: %d %s", w.Code, w.Body)
	}
	d.Devices = devices{}
	w := post(d, `{"issuer":"corp"}`, true)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"code":"ABCD"`) || w.Header().Get("Cache-Control") != "no-store" || len(w.Result().Cookies()) > 0 {
		t.Errorf("begun: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w = post(d, `{"issuer":"corp","device":"d-2"}`, true); w.Code != http.StatusAccepted || len(w.Result().Cookies()) > 0 {
		t.Errorf("before the code is confirmed: %d", w.Code)
	}
	w = post(d, `{"issuer":"corp","device":"d-1"}`, true)
	if all := w.Result().Cookies(); w.Code != http.StatusNoContent || len(all) != 1 || all[0].Value != token || !all[0].HttpOnly || !all[0].Secure || w.Body.Len() > 0 {
		t.Errorf("finished: %d %v", w.Code, w.Header())
	}
	if w = post(d, `{"issuer":"nobody"}`, true); w.Code != api.StatusOf(api.CodeIssuerNotFound) {
		t.Errorf("at nobody: %d", w.Code)
	}
	r := httptest.NewRequest(http.MethodPost, session.Path, strings.NewReader(`{"issuer":"corp"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(session.Header, "1")
	r.RemoteAddr = "10.0.0.1:1"
	w = httptest.NewRecorder()
	if d.ServeHTTP(w, r); w.Code != http.StatusTooManyRequests {
		t.Errorf("an address that asks too often: %d", w.Code)
	}
}

// TestCookieOfAStream: the handshake of a stream has the cookie count without the header, which pages cannot send, if it says the origin of its page (SPEC A6, H5).
func TestCookieOfAStream(t *testing.T) {
	d := desk("c-1")
	cookie := post(d, `{"token":"`+token+`"}`, true).Result().Cookies()[0]
	for _, x := range []struct {
		path, origin, upgrade string
		counts                bool
	}{
		{"/v1/stream", "https://n1", "websocket", true},
		{"/v1/stream", "", "websocket", false},
		{"/v1/stream", "https://n1", "", false},
		{"/v1/tasks", "https://n1", "websocket", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "https://n1"+x.path, http.NoBody)
		r.AddCookie(cookie)
		for name, value := range map[string]string{"Origin": x.origin, "Upgrade": x.upgrade} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := d.Admit(r).Header.Get("Authorization"); (got == "Bearer "+token) != x.counts {
			t.Errorf("%+v: %q", x, got)
		}
	}
}
