package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

// Bounds of what a node asks an issuer. A caller that sends tokens with unknown keys makes it ask.
const (
	askTime  = 10 * time.Second // for one answer
	askBytes = 1 << 20          // of one answer
	askEvery = 10 * time.Second // one question in this time, after a burst
	askBurst = 6
)

// verifier verifies tokens of issuers. It keeps what it has learned of an issuer, so an issuer that is away matters only to callers with a new key.
type verifier struct {
	transport http.RoundTripper // default: http.DefaultTransport

	mu    sync.Mutex
	known map[string]*provider // by URL
}

// provider is what is known of an issuer.
type provider struct {
	client  *http.Client  // for what it publishes
	asker   *http.Client  // for what browsers that sign in ask
	devices *rate.Limiter // of asker

	mu    sync.Mutex
	found *oidc.Provider // nil: it has not answered yet
}

// verify returns the claims of a token that an issuer has signed for this cluster, and that holds. The error is an *api.Error.
func (v *verifier) verify(ctx context.Context, i *auth.Issuer, token string) (*oidc.IDToken, error) {
	found, err := v.provider(i.URL).discover(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	claims, err := found.Verifier(&oidc.Config{ClientID: i.ClientID}).Verify(ctx, token)
	switch {
	case err == nil && claims.Subject == "":
		return nil, refused("it names no subject")
	case err == nil:
		return claims, nil
	case asking(err):
		return nil, away(i.URL, err)
	}
	return nil, refused(strings.TrimPrefix(err.Error(), "oidc: "))
}

func (v *verifier) provider(url string) *provider {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.known[url]
	if p == nil {
		if v.known == nil || len(v.known) >= 2*auth.MaxIssuers { // some are no longer used
			v.known = map[string]*provider{}
		}
		p = &provider{devices: rate.NewLimiter(rate.Every(deviceEvery), deviceBurst)}
		p.client = client(&bounded{to: v.transport, rate: rate.NewLimiter(rate.Every(askEvery), askBurst)})
		p.asker = client(&bounded{to: v.transport, rate: p.devices})
		v.known[url] = p
	}
	return p
}

// client asks within askTime. It follows no redirect: where one leads is not what an admin has set.
func client(by *bounded) *http.Client {
	return &http.Client{Timeout: askTime, Transport: by, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// discover asks the issuer for its endpoints and keys, unless it has answered before.
func (p *provider) discover(ctx context.Context, url string) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		// The provider keeps the client of the context, and not the context.
		found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), url)
		if err != nil {
			return nil, away(url, err)
		}
		p.found = found
	}
	return p.found, nil
}

// errTooOften says that this node has asked an issuer as often as it may.
var errTooOften = errors.New("it was asked too often just now")

// askError says that an issuer could not be asked.
type askError struct{ error }

func (e *askError) Unwrap() error { return e.error }

// asking reports whether a token could not be verified because its issuer does not answer. Package oidc hides what was wrong in texts.
func asking(err error) bool {
	_, is := errors.AsType[*askError](err)
	return is || strings.Contains(err.Error(), "fetching keys")
}

func away(url string, err error) error {
	e := api.NewError(api.CodeIssuerAway, "the issuer %.200s does not answer as it should: %.300v", url, err)
	e.RetryMS = askEvery.Milliseconds()
	return e
}

func refused(why string) error {
	return api.NewError(api.CodeSignInRefused, "the token does not hold: %.300s", why)
}

// bounded asks seldom, and reads little.
type bounded struct {
	to   http.RoundTripper
	rate *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !b.rate.Allow() {
		return nil, &askError{errTooOften}
	}
	to := b.to
	if to == nil {
		to = http.DefaultTransport
	}
	res, err := to.RoundTrip(r)
	if err != nil {
		return nil, &askError{err}
	}
	res.Body = &limitedBody{io.LimitReader(res.Body, askBytes), res.Body}
	return res, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

// grant returns what the rules of an issuer give the holder of a token: the first rule that fits.
func grant(i *auth.Issuer, token *oidc.IDToken) (access.Grant, error) {
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return access.Grant{}, refused("its claims are no JSON object")
	}
	for n := range i.Rules {
		r := &i.Rules[n]
		if fits(claim(claims, r.Claim), r.Value) && (r.Claim != "email" || claims["email_verified"] == true) {
			return r.Grant()
		}
	}
	return access.Grant{}, api.NewError(api.CodeForbidden, "no rule of the issuer %s fits a claim of this token", i.Name)
}

// claim finds a claim by its name, or by a path with dots.
func claim(claims map[string]any, path string) any {
	if v, has := claims[path]; has {
		return v
	}
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if inner, is := claims[path[:i]].(map[string]any); is {
			if v := claim(inner, path[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// fits reports whether a claim has a value, or has it in its list.
func fits(claim any, pattern string) bool {
	switch c := claim.(type) {
	case string:
		return access.Match(pattern, c)
	case bool:
		return access.Match(pattern, strconv.FormatBool(c))
	case float64:
		return access.Match(pattern, fmt.Sprint(c))
	case json.Number:
		return access.Match(pattern, c.String())
	case []any:
		for _, one := range c {
			if _, nested := one.([]any); !nested && fits(one, pattern) {
				return true
			}
		}
	}
	return false
}
