package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/trust"
)

// keeper keeps tokens in memory, and lets in who has one.
type keeper struct {
	root  trust.Token
	kept  map[string]auth.CreateTokenRequest
	asked []any
}

func newKeeper() *keeper {
	return &keeper{root: trust.DrawToken(), kept: map[string]auth.CreateTokenRequest{}}
}

// Enter implements server.Gate.
func (k *keeper) Enter(authorization, _ string) (*auth.Principal, error) {
	token, err := trust.ParseToken(strings.TrimPrefix(authorization, "Bearer "))
	if err == nil && token == k.root {
		return &auth.Principal{Number: access.Root, Name: "root", Grant: access.Everything()}, nil
	}
	hash := token.Hash()
	for name, r := range k.kept {
		if g, bad := r.Grant(); err == nil && bad == nil && r.Hash == hex.EncodeToString(hash[:]) {
			return &auth.Principal{Number: 2, Name: name, Grant: g}, nil
		}
	}
	return nil, auth.Unauthenticated()
}

func (k *keeper) Guess(string) error { return nil }

func (k *keeper) Tokens(_ context.Context, r auth.TokensRequest) (*auth.TokensReply, error) {
	k.asked = append(k.asked, r)
	reply := &auth.TokensReply{Cursor: auth.Cursor("zed")}
	for name := range k.kept {
		t, _ := k.Token(context.Background(), name)
		reply.Tokens = append(reply.Tokens, *t)
	}
	return reply, nil
}

func (k *keeper) Token(_ context.Context, name string) (*auth.Token, error) {
	r, known := k.kept[name]
	if !known {
		return nil, api.NewError(api.CodeTokenNotFound, "no token %s", name)
	}
	t := &auth.Token{Name: name, Roles: r.Roles, Namespaces: r.Namespaces, Behaviors: r.Behaviors, Rate: r.Rate, CreatedBy: "root"}
	if r.TTL > 0 {
		t.ExpiresAt = &api.Time{Time: time.Unix(0, int64(r.TTL)).UTC()}
	}
	return t, nil
}

func (k *keeper) Self(ctx context.Context) (*auth.Token, error) {
	if p := auth.PrincipalOf(ctx); p.Number != access.Root {
		return k.Token(ctx, p.Name)
	}
	return &auth.Token{Name: "root", Roles: access.All.Names(), Namespaces: []string{"*"}, Behaviors: []string{"*"}}, nil
}

func (k *keeper) CreateToken(ctx context.Context, r auth.CreateTokenRequest) (*auth.CreatedToken, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if k.kept[r.Name].Hash != "" {
		return nil, api.NewError(api.CodeTokenExists, "there is a token %s", r.Name)
	}
	k.asked, k.kept[r.Name] = append(k.asked, r), r
	t, err := k.Token(ctx, r.Name)
	return &auth.CreatedToken{Token: *t}, err
}

func (k *keeper) RotateToken(ctx context.Context, r auth.RotateTokenRequest) (*auth.CreatedToken, error) {
	t, err := k.Token(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	was := k.kept[r.Name]
	was.Hash = r.Hash
	k.asked, k.kept[r.Name] = append(k.asked, r), was
	return &auth.CreatedToken{Token: *t}, nil
}

func (k *keeper) RevokeToken(_ context.Context, name string) error {
	if _, known := k.kept[name]; !known {
		return api.NewError(api.CodeTokenNotFound, "no token %s", name)
	}
	delete(k.kept, name)
	return nil
}

func (k *keeper) DisableRoot(context.Context) error {
	k.root = trust.DrawToken()
	return nil
}

// serveTokens serves a cluster that asks for tokens. It returns how a command is run against it with a token: the exit code and what it said.
func serveTokens(t *testing.T, k *keeper) func(token trust.Token, line string) (code int, stdout, stderr string) {
	t.Helper()
	s := httptest.NewServer(server.New(nil, server.Config{Gate: k, Access: k, Cluster: func() string { return "c1" }, Metrics: http.NotFoundHandler()}))
	t.Cleanup(s.Close)
	return func(token trust.Token, line string) (int, string, string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(token.Text()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		args := append([]string{"taskrt"}, strings.Fields(line)...)
		code := run(t.Context(), append(args, "--server", s.URL, "--token-file", file), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
}

// TestTokens: a token's way through the command line (SPEC A4). The token is drawn here, printed alone, and sent to nobody: the cluster gets its
// hash.
func TestTokens(t *testing.T) {
	k := newKeeper()
	do := serveTokens(t, k)
	code, out, said := do(k.root, "token create ci --role deploy --role read,submit --namespace team-*,lab --behavior mail-* --ttl 2160h --rate 9")
	drawn, err := trust.ParseToken(strings.TrimSuffix(out, "\n"))
	if code != exit.OK || err != nil || !strings.Contains(said, "chmod 600") || strings.Contains(said, drawn.Text()) {
		t.Fatalf("%d, %v, %s", code, err, said)
	}
	hash := drawn.Hash()
	want := auth.CreateTokenRequest{
		Name: "ci", Roles: []string{"deploy", "read", "submit"}, Namespaces: []string{"team-*", "lab"}, Behaviors: []string{"mail-*"},
		TTL: api.Duration(2160 * time.Hour), Rate: 9, Hash: hex.EncodeToString(hash[:]),
	}
	if !reflect.DeepEqual(k.asked, []any{want}) {
		t.Errorf("asked %+v, want %+v", k.asked, want)
	}
	if code, out, said := do(drawn, "token self"); code != exit.OK || !strings.Contains(out, "deploy,read,submit") || said != "" {
		t.Errorf("%d, %s, %s", code, out, said)
	}
	if code, out, said := do(k.root, "token list --limit 7"); code != exit.OK || !strings.Contains(out, "ci    deploy,read,submit  team-*,lab  mail-*") ||
		!strings.Contains(said, "--cursor "+auth.Cursor("zed")) || k.asked[1].(auth.TokensRequest).Limit != 7 {
		t.Errorf("%d, %s, %s", code, out, said)
	}
	code, out, _ = do(k.root, "token rotate ci --overlap 5m")
	next, err := trust.ParseToken(strings.TrimSpace(out))
	if r := k.asked[2].(auth.RotateTokenRequest); code != exit.OK || err != nil || next == drawn || time.Duration(*r.Overlap) != 5*time.Minute {
		t.Errorf("%d, %v, %+v", code, err, r)
	}
	if code, _, said := do(drawn, "token self"); code != exit.Refused || !strings.Contains(said, "unauthenticated") {
		t.Errorf("the former one: %d, %s", code, said)
	}
	if code, _, said := do(next, "token show ci"); code != exit.Refused || !strings.Contains(said, "the role admin") {
		t.Errorf("without admin: %d, %s", code, said)
	}
	if code, _, _ := do(k.root, "token create lab --role read"); code != exit.OK {
		t.Fatal("another one")
	}
	if code, _, said := do(k.root, "token revoke nobody ci lab"); code != exit.Refused || !strings.Contains(said, "nobody: token_not_found") || len(k.kept) > 0 {
		t.Errorf("%d, %s, %v", code, said, k.kept)
	}
	root := k.root
	if code, _, said := do(k.root, "token disable-root"); code != exit.OK || said != "" {
		t.Errorf("%d, %s", code, said)
	}
	if code, _, _ := do(root, "token self"); code != exit.Refused {
		t.Errorf("the root token is off: %d", code)
	}
}

// TestTokensForPrograms: -o json is a token as the API shows one that it has drawn itself.
func TestTokensForPrograms(t *testing.T) {
	k := newKeeper()
	do := serveTokens(t, k)
	for _, line := range []string{"token create ann --role admin -o json", "token rotate ann -o json"} {
		code, out, said := do(k.root, line)
		var made auth.CreatedToken
		if err := json.Unmarshal([]byte(out), &made); code != exit.OK || err != nil || made.Name != "ann" || said != "" {
			t.Fatalf("%s: %d, %v, %s", line, code, err, said)
		}
		token, err := trust.ParseToken(made.Credential)
		if err != nil {
			t.Fatal(err)
		}
		if code, out, _ := do(token, "token show ann -o json"); code != exit.OK || !strings.HasPrefix(out, `{"name":"ann","roles":["admin"],"namespaces":["*"],`) {
			t.Errorf("%s: %d, %s", line, code, out)
		}
	}
}

// TestTokenRefusals: what cannot be right is said with the field and the limit, and nothing is made.
func TestTokenRefusals(t *testing.T) {
	k := newKeeper()
	do := serveTokens(t, k)
	for line, want := range map[string]string{
		"token create c --role read":                             "5 name: must be 2 to 64",
		"token create root --role read":                          "5 name: root is the token that follows",
		"token create ci":                                        "5 roles: ",
		"token create ci --role reader":                          `5 roles: there is no role "reader"; the roles are read,submit`,
		"token create ci --role read --namespace=":               "2 --namespace is empty",
		"token create ci --role read --namespace a --behavior=,": "2 --behavior is empty",
		"token create ci --role read --namespace a*b":            "5 namespaces: ",
		"token create ci --role read --ttl 100000h":              "5 ttl: must be 1ms to 87600h",
		"token create ci --role read --ttl soon":                 "2 --ttl",
		"token create ci --role read --rate 1000001":             "5 rate: must be 0 to 1000000",
		"token rotate ci --overlap 721h":                         "5 overlap: must be 0 to 720h",
		"token list --limit 1001":                                "5 limit: must be 1 to 1000",
		"token show nobody":                                      "5 token_not_found",
		"token create ci ann --role read":                        "2 unexpected argument",
		"token revoke":                                           "2 NAME… is missing",
	} {
		code, out, said := do(k.root, line)
		wantCode, text, _ := strings.Cut(want, " ")
		if string(rune('0'+code)) != wantCode || !strings.Contains(said, text) || out != "" || len(k.kept) > 0 {
			t.Errorf("%s: %d, %s%s; want %s", line, code, out, said, want)
		}
	}
	if code, _, said := do(trust.DrawToken(), "token list"); code != exit.Refused || !strings.Contains(said, "unauthenticated") {
		t.Errorf("nobody's token: %d, %s", code, said)
	}
	if len(k.asked) > 0 {
		t.Errorf("asked %v", k.asked)
	}
}
