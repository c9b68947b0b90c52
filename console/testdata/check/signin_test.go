package check

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/taskrt/taskrt/internal/issuer"
)

// insecure trusts anybody: the certificate is of a cluster that lives as long as the test.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// token makes a token with a role.
func (s *secure) token(t *testing.T, body string) string {
	t.Helper()
	b, err := ask(insecure, s.url, s.root, "POST", "/v1/tokens", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Credential string }
	if err := json.Unmarshal(b, &made); err != nil || made.Credential == "" {
		t.Fatalf("%s: %v", b, err)
	}
	return made.Credential
}

// TestSignIn: a token opens the console; roles hide what it may not do; when it is revoked in the middle the page stays, and goes on after another
// sign-in; no script and no address sees it (SPEC U1, A4, A5).
func TestSignIn(t *testing.T) {
	s := startSecure(t)
	s.do(t, "PUT", "/v1/behaviors/ext", `{"kind":"external"}`)
	s.do(t, "POST", "/v1/tasks", `{"behavior":"ext","id":"first"}`)
	reader := s.token(t, `{"name":"reader","roles":["read"]}`)
	other := s.token(t, `{"name":"other","roles":["read","operate"]}`)

	b := open(t, s.url, "tasks", wide)
	b.allow("401")
	b.sees("Sign in to the cluster")
	b.accessible()
	b.shot("sign-in")
	b.fill("#token", "trt_wrong")
	b.press("Sign in")
	b.sees("The cluster knows no such token")
	b.do(chromedp.Evaluate(`document.querySelector('#token').value = ''`, nil))
	b.fill("#token", reader)
	b.press("Sign in")
	b.sees("first")
	b.sees("reader")
	if value[bool](b, `[...document.querySelectorAll('nav a')].some((a) => /Submit|Tokens|Audit/.test(a.textContent))`) {
		t.Error("the menu shows what a reader may not do")
	}
	b.secretIsHidden(reader)

	b.do(chromedp.Reload())
	b.sees("first") // the cookie is still there
	s.do(t, "DELETE", "/v1/tokens/reader", "")
	s.do(t, "POST", "/v1/tasks", `{"behavior":"ext","id":"second"}`)
	b.do(chromedp.Evaluate(`location.hash = '#/tasks?status=CREATED'`, nil))
	b.sees("Sign in again")
	b.sees("Tasks") // the page is still there, behind the dialog
	b.shot("sign-in-again")
	b.fill("#token", other)
	b.press("Sign in")
	b.sees("second")
	b.until(`location.hash === '#/tasks?status=CREATED' && document.querySelector('.account').innerText.includes('other')`)
	b.press("Sign out")
	b.sees("Sign in")
}

// startIssuer starts a real issuer of OpenID Connect, and returns its URL.
func startIssuer(t *testing.T) string {
	t.Helper()
	addr, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return issuer.Start(t, addr).URL
}

// TestSignInAtIssuer: somebody signs in to the console at an issuer of OpenID Connect, by confirming a code there; the session's token is in the
// cookie alone, and ends when one signs out (SPEC A7, U1).
func TestSignInAtIssuer(t *testing.T) {
	at := startIssuer(t)
	s := startSecure(t)
	s.do(t, "PUT", "/v1/issuers/corp", `{"url":"`+at+`","client_id":"taskrt","session":"1h","rules":[{"claim":"groups","value":"ops","roles":["read","operate"]}]}`)
	s.do(t, "PUT", "/v1/behaviors/ext", `{"kind":"external"}`)
	s.do(t, "POST", "/v1/tasks", `{"behavior":"ext","id":"first"}`)

	b := open(t, s.url, "tasks", wide)
	b.allow("401")
	b.sees("Sign in with corp")
	b.press("Sign in with corp")
	b.until(`document.querySelector('.user-code')`)
	b.accessible()
	b.shot("sign-in-issuer")
	if where := value[string](b, `document.querySelector('.issuer a').href`); !strings.HasPrefix(where, at+"/") {
		t.Errorf("the page leads to %s", where)
	}
	code := value[string](b, `document.querySelector('.user-code').innerText`)
	if _, err := ask(http.DefaultClient, at, "", "POST", "/approve?account=ann&user_code="+code, "text/plain", nil); err != nil {
		t.Fatal(err)
	}
	b.sees("first")
	b.until(`document.querySelector('.account').innerText.includes('corp/ann')`)
	var session string
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := network.GetCookies().Do(ctx)
		for _, c := range all {
			if strings.HasPrefix(c.Value, "trt_") {
				session = c.Value
			}
		}
		return err
	}))
	b.secretIsHidden(session)
	b.press("Sign out")
	b.sees("Sign in with corp")
	if _, err := ask(insecure, s.url, session, "GET", "/v1/self", "", nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("the session goes on after the sign-out: %v", err)
	}
}

// secretIsHidden fails the test if a script or an address has the token.
func (b *tab) secretIsHidden(token string) {
	b.t.Helper()
	seen := value[string](b, `document.cookie + location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + performance.getEntries().map((e) => e.name).join()`)
	if strings.Contains(seen, token) {
		b.t.Error("a script can read the token")
	}
	var found bool
	b.do(b.cookie(token, &found))
	if !found {
		b.t.Error("no cookie has the token: what was looked at?")
	}
}

// cookie looks for the cookie as the browser keeps it.
func (b *tab) cookie(token string, found *bool) chromedp.ActionFunc {
	return func(ctx context.Context) error {
		all, err := network.GetCookies().Do(ctx)
		for _, c := range all {
			if c.Value == token {
				*found = true
				if !c.HTTPOnly || !c.Secure || c.SameSite != network.CookieSameSiteStrict || c.Path != "/" {
					b.t.Errorf("the cookie: %+v", c)
				}
			}
		}
		return err
	}
}

// TestCookieAlone: a cookie without the console's header opens nothing: that is what a page of another origin could send at most.
func TestCookieAlone(t *testing.T) {
	s := startSecure(t)
	req := func(method, path, body string, header bool, cookie *http.Cookie) *http.Response {
		r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if header {
			r.Header.Set("Taskrt-Console", "1")
		}
		if cookie != nil {
			r.AddCookie(cookie)
		}
		res, err := insecure.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	in := req("POST", "/session", `{"token":"`+s.root+`"}`, true, nil)
	if in.StatusCode != http.StatusNoContent || len(in.Cookies()) != 1 {
		t.Fatalf("sign in: %s", in.Status)
	}
	c := in.Cookies()[0]
	for _, one := range []struct {
		method, path, body string
		header             bool
		status             int
	}{
		{"GET", "/v1/namespaces", "", true, 200}, {"GET", "/v1/namespaces", "", false, 401},
		{"POST", "/v1/namespaces", `{"name":"team"}`, false, 401}, {"POST", "/v1/namespaces", `{"name":"team"}`, true, 201},
	} {
		if r := req(one.method, one.path, one.body, one.header, c); r.StatusCode != one.status {
			t.Errorf("%s %s, header %v: %s", one.method, one.path, one.header, r.Status)
		}
	}
}

func (s *secure) do(t *testing.T, method, path, body string) {
	t.Helper()
	if _, err := ask(insecure, s.url, s.root, method, path, "application/json", strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
}
