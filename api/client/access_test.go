package client_test

import (
	"context"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

// manager is an auth.Access that notes what it is asked, and answers with what it was asked.
type manager struct {
	asked []any
	err   error
}

func (m *manager) note(v ...any) error {
	m.asked = append(m.asked, v...)
	return m.err
}

// someToken has all fields.
func someToken(name string) auth.Token {
	at := func(s int64) *api.Time { return &api.Time{Time: time.Unix(s, 0).UTC()} }
	return auth.Token{
		Name: name, Roles: []string{"deploy", "read"}, Namespaces: []string{"team-*"}, Behaviors: []string{"*"}, ExpiresAt: at(5), CreatedAt: at(1),
		CreatedBy: "root", RotatedAt: at(2), FormerUntil: at(3), Rate: 7, Rev: 12,
	}
}

func (m *manager) Tokens(_ context.Context, r auth.TokensRequest) (*auth.TokensReply, error) {
	return &auth.TokensReply{Tokens: []auth.Token{someToken("ann"), someToken("bob")}, Cursor: auth.Cursor("bob")}, m.note("Tokens", r)
}

func (m *manager) Token(_ context.Context, name string) (*auth.Token, error) {
	x := someToken(name)
	return &x, m.note("Token", name)
}

func (m *manager) Self(context.Context) (*auth.Token, error) {
	x := someToken("self")
	return &x, m.note("Self")
}

func (m *manager) CreateToken(_ context.Context, r auth.CreateTokenRequest) (*auth.CreatedToken, error) {
	return &auth.CreatedToken{Token: someToken(r.Name), Credential: "trt_x"}, m.note("CreateToken", r)
}

func (m *manager) RotateToken(_ context.Context, r auth.RotateTokenRequest) (*auth.CreatedToken, error) {
	return &auth.CreatedToken{Token: someToken(r.Name)}, m.note("RotateToken", r)
}

func (m *manager) RevokeToken(_ context.Context, name string) error {
	return m.note("RevokeToken", name)
}

func (m *manager) DisableRoot(context.Context) error { return m.note("DisableRoot") }

// accessCall is a call of each method, with what a manager behind the handler is asked, and what it answers.
type accessCall struct {
	call  func(context.Context, auth.Access) (any, error)
	asked []any
	want  any
}

func accessCalls() map[string]accessCall {
	token := func(name string) *auth.Token { x := someToken(name); return &x }
	all, hash := []string{"*"}, strings.Repeat("0f", 32)
	overlap := api.Duration(time.Minute)
	return map[string]accessCall{
		"list": {
			func(ctx context.Context, a auth.Access) (any, error) {
				return a.Tokens(ctx, auth.TokensRequest{Limit: 2, Cursor: auth.Cursor("abc")})
			},
			[]any{"Tokens", auth.TokensRequest{Limit: 2, Cursor: auth.Cursor("abc")}},
			&auth.TokensReply{Tokens: []auth.Token{someToken("ann"), someToken("bob")}, Cursor: auth.Cursor("bob")},
		},
		"get":  {func(ctx context.Context, a auth.Access) (any, error) { return a.Token(ctx, "ann") }, []any{"Token", "ann"}, token("ann")},
		"self": {func(ctx context.Context, a auth.Access) (any, error) { return a.Self(ctx) }, []any{"Self"}, token("self")},
		"create": {
			func(ctx context.Context, a auth.Access) (any, error) {
				return a.CreateToken(ctx, auth.CreateTokenRequest{Name: "ann", Roles: []string{"read"}, TTL: api.Duration(time.Hour), Rate: 3, Hash: hash})
			},
			[]any{"CreateToken", auth.CreateTokenRequest{Name: "ann", Roles: []string{"read"}, Namespaces: all, Behaviors: all, TTL: api.Duration(time.Hour), Rate: 3, Hash: hash}},
			&auth.CreatedToken{Token: someToken("ann"), Credential: "trt_x"},
		},
		"rotate": {
			func(ctx context.Context, a auth.Access) (any, error) {
				return a.RotateToken(ctx, auth.RotateTokenRequest{Name: "ann", Overlap: &overlap, Hash: hash})
			},
			[]any{"RotateToken", auth.RotateTokenRequest{Name: "ann", Overlap: &overlap, Hash: hash}},
			&auth.CreatedToken{Token: someToken("ann")},
		},
		"revoke":       {func(ctx context.Context, a auth.Access) (any, error) { return nil, a.RevokeToken(ctx, "ann") }, []any{"RevokeToken", "ann"}, nil},
		"disable root": {func(ctx context.Context, a auth.Access) (any, error) { return nil, a.DisableRoot(ctx) }, []any{"DisableRoot"}, nil},
	}
}

// TestAccess: each call of the client reaches the same method behind the handler with the same values, and brings back its answer, or its
// refusal (SPEC A4).
func TestAccess(t *testing.T) {
	m := &manager{}
	s := httptest.NewServer(server.New(nil, server.Config{Access: m}))
	defer s.Close()
	c, err := client.New(client.Config{URLs: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, x := range accessCalls() {
		m.asked, m.err = nil, nil
		got, err := x.call(t.Context(), client.NewAccess(c))
		if err != nil || !reflect.DeepEqual(m.asked, x.asked) || x.want != nil && !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: asked %+v, want %+v; answer %+v, want %+v; %v", name, m.asked, x.asked, got, x.want, err)
		}
		m.err = api.NewError(api.CodeTokenNotFound, "no token ann")
		if _, err := x.call(t.Context(), client.NewAccess(c)); api.CodeOf(err) != api.CodeTokenNotFound || err.Error() != m.err.Error() {
			t.Errorf("%s, refused: %v", name, err)
		}
	}
}

// TestAccessChecks: what cannot be right is not sent, and the error names the field.
func TestAccessChecks(t *testing.T) {
	m := &manager{}
	s := httptest.NewServer(server.New(nil, server.Config{Access: m}))
	defer s.Close()
	c, err := client.New(client.Config{URLs: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a, ctx := client.NewAccess(c), t.Context()
	long := api.Duration(auth.MaxOverlap + 1)
	for field, call := range map[string]func() error{
		"name":   func() error { _, err := a.Token(ctx, "../cluster"); return err },
		"limit":  func() error { _, err := a.Tokens(ctx, auth.TokensRequest{Limit: 1001}); return err },
		"cursor": func() error { _, err := a.Tokens(ctx, auth.TokensRequest{Cursor: "!"}); return err },
		"roles":  func() error { _, err := a.CreateToken(ctx, auth.CreateTokenRequest{Name: "ann"}); return err },
		"overlap": func() error {
			_, err := a.RotateToken(ctx, auth.RotateTokenRequest{Name: "ann", Overlap: &long})
			return err
		},
		"Name": func() error { return a.RevokeToken(ctx, "A") },
	} {
		if e, ok := call().(*api.Error); !ok || e.Code != api.CodeInvalidField || e.Field != strings.ToLower(field) { //nolint:errorlint // as it is
			t.Errorf("%s: %v", field, e)
		}
	}
	if m.asked != nil {
		t.Errorf("asked %v", m.asked)
	}
}

// TestAccessIsSentAgain: what may have happened is sent again only if twice is the same as once. A token that the first request has revoked
// is revoked.
func TestAccessIsSentAgain(t *testing.T) {
	keyed := func(ctx context.Context) context.Context { return client.WithIdempotencyKey(ctx, "k") }
	plain := func(ctx context.Context) context.Context { return ctx }
	for name, x := range accessCalls() {
		twice := name != "create" && name != "rotate"
		for _, under := range []struct {
			ctx   func(context.Context) context.Context
			again bool
		}{{plain, twice}, {keyed, true}} {
			c, s := clientOf(t, []string{"break", "ok"})
			_, err := x.call(under.ctx(t.Context()), client.NewAccess(c))
			want, code := 1, api.CodeOutcomeUnknown
			if under.again {
				want, code = 2, ""
			}
			if s[0].count() != want || api.CodeOf(err) != code {
				t.Errorf("%s: %d requests, want %d: %v", name, s[0].count(), want, err)
			}
		}
	}
	for script, want := range map[string]string{"break token_not_found": "", "no_leader token_not_found": api.CodeTokenNotFound, "token_not_found": api.CodeTokenNotFound} {
		c, _ := clientOf(t, strings.Fields(script))
		if err := client.NewAccess(c).RevokeToken(t.Context(), "ann"); api.CodeOf(err) != want {
			t.Errorf("%s: %v", script, err)
		}
	}
}
