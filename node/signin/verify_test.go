package signin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

// issuer is an issuer of the test.
type issuer struct {
	*httptest.Server
	server *oidctest.Server
	key    *ecdsa.PrivateKey
	away   atomic.Bool
	asked  atomic.Int64
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: newKey(t)}
	i.server = &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.key.Public(), KeyID: "one", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if i.away.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		i.server.ServeHTTP(w, r)
	}))
	i.server.SetIssuer(i.URL)
	t.Cleanup(i.Close)
	return i
}

// token is a token of the issuer for ann, with these claims changed.
func (i *issuer) token(key *ecdsa.PrivateKey, kid string, change map[string]any) string {
	claims := map[string]any{"iss": i.URL, "aud": "taskrt", "sub": "ann", "exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix()}
	maps.Copy(claims, change)
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return oidctest.SignIDToken(key, kid, oidc.ES256, string(text))
}

// TestVerify: whose tokens hold (SPEC A7).
func TestVerify(t *testing.T) {
	i, other := newIssuer(t), newIssuer(t)
	i.asked.Store(0)
	set := &auth.Issuer{Name: "corp", URL: i.URL, ClientID: "taskrt"}
	good := i.token(i.key, "one", nil)
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct{ token, code string }{
		"good":              {good, ""},
		"several audiences": {i.token(i.key, "one", map[string]any{"aud": []string{"x", "taskrt"}}), ""},
		"another issuer":    {i.token(i.key, "one", map[string]any{"iss": other.URL}), api.CodeSignInRefused},
		"another audience":  {i.token(i.key, "one", map[string]any{"aud": "other"}), api.CodeSignInRefused},
		"expired":           {i.token(i.key, "one", map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), api.CodeSignInRefused},
		"not yet":           {i.token(i.key, "one", map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), api.CodeSignInRefused},
		"no subject":        {i.token(i.key, "one", map[string]any{"sub": ""}), api.CodeSignInRefused},
		"another key":       {i.token(other.key, "one", nil), api.CodeSignInRefused},
		"not signed":        {parts[0] + "." + parts[1] + ".", api.CodeSignInRefused},
		"alg none":          {"eyJhbGciOiJub25lIn0." + parts[1] + ".", api.CodeSignInRefused},
		"garbage":           {"a.b.c", api.CodeSignInRefused},
	} {
		var v verifier // each asks the issuer anew
		_, err := v.verify(t.Context(), set, c.token)
		if api.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIssuerAway: an issuer that was asked once may be away: its tokens hold, as far as its keys are known. Whoever sends unknown keys makes a
// node ask seldom (SPEC A7).
func TestIssuerAway(t *testing.T) {
	i := newIssuer(t)
	set := &auth.Issuer{Name: "corp", URL: i.URL, ClientID: "taskrt"}
	var v verifier
	i.away.Store(true)
	if _, err := v.verify(t.Context(), set, i.token(i.key, "one", nil)); api.CodeOf(err) != api.CodeIssuerAway {
		t.Errorf("never asked, and away: %v", err)
	}
	i.away.Store(false)
	if _, err := v.verify(t.Context(), set, i.token(i.key, "one", nil)); err != nil {
		t.Fatal(err)
	}
	i.away.Store(true)
	if _, err := v.verify(t.Context(), set, i.token(i.key, "one", nil)); err != nil {
		t.Errorf("known, and away: %v", err)
	}
	i.asked.Store(0)
	for n := range 200 {
		if _, err := v.verify(t.Context(), set, i.token(newKey(t), fmt.Sprint(n), nil)); err == nil {
			t.Fatal("an unknown key")
		}
	}
	if n := i.asked.Load(); n > askBurst+2 {
		t.Errorf("200 unknown keys made the node ask %d times", n)
	}
}

// TestGrant: the first rule that fits says what a holder may do (SPEC A7).
func TestGrant(t *testing.T) {
	i := newIssuer(t)
	rule := func(claim, value, role string) auth.IssuerRule {
		return auth.IssuerRule{Claim: claim, Value: value, Roles: []string{role}}
	}
	set := &auth.Issuer{Name: "corp", URL: i.URL, ClientID: "taskrt", Rules: []auth.IssuerRule{
		rule("groups", "ops", "operate"), rule("realm.roles", "dev*", "deploy"), rule("a.b", "x", "work"), rule("email", "*@corp.example*", "read"),
		rule("robot", "true", "submit"), rule("level", "7", "admin"),
	}}
	for _, c := range []struct {
		claims map[string]any
		roles  access.Roles
	}{
		{map[string]any{"groups": []string{"dev", "ops"}}, access.Operate},
		{map[string]any{"groups": "ops", "level": 7}, access.Operate},
		{map[string]any{"groups": []any{[]string{"ops"}}}, 0},
		{map[string]any{"groups": "opsx"}, 0},
		{map[string]any{"realm": map[string]any{"roles": []string{"developer"}}}, access.Deploy},
		{map[string]any{"realm.roles": "dev"}, access.Deploy},
		{map[string]any{"a.b": "x"}, access.Work},
		{map[string]any{"email": "*@corp.example", "email_verified": false}, 0},
		{map[string]any{"email": "*@corp.example"}, 0},
		{map[string]any{"robot": true}, access.Submit},
		{map[string]any{"robot": "false"}, 0},
		{map[string]any{"level": 7}, access.Admin},
		{map[string]any{}, 0},
	} {
		var v verifier
		token, err := v.verify(t.Context(), set, i.token(i.key, "one", c.claims))
		if err != nil {
			t.Fatal(err)
		}
		g, err := grant(set, token)
		if g.Roles != c.roles || (err == nil) != (c.roles != 0) {
			t.Errorf("%v: %v, %v", c.claims, g.Roles, err)
		}
	}
}
