package apitest_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

// TestAnswersMatchTheDocument runs the whole suite over HTTP. It checks every accepted request, and every answer, against what
// /openapi.json says of its route: status, media type, schema. Fields that the document does not have are wrong, too. The suite
// must meet every operation.
func TestAnswersMatchTheDocument(t *testing.T) {
	t.Parallel()
	var checker *apitest.Document
	var url string
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		server := httptest.NewServer(server.New(f, server.Config{
			Logger: slog.New(slog.DiscardHandler), Access: tokens{}, SignIn: desk{}, Audit: records{}, Members: two{}, Insight: f.Insight(), Jobs: f.Jobs(), Snapshots: saves{},
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			}),
		}))
		t.Cleanup(server.Close)
		checker, url = apitest.NewDocument(t, server.URL), server.URL
		client, err := client.New(client.Config{URLs: []string{server.URL}, Transport: checker})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	})
	for _, path := range []string{ // routes for which no method of Service asks
		"/v1/behaviors/apitest.ok/versions", "/v1/cluster/members", "/healthz", "/metrics", "/openapi.json", "/v1/nothing",
		"/taskstore/group", "/taskstore/task/999999999",
	} {
		res, err := (&http.Client{Transport: checker}).Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	for _, x := range []struct{ method, path, body string }{
		{"POST", "/v1/tasks:cancel", `{"filter":{"id_prefix":"none-"}}`}, {"POST", "/v1/tasks:retry", `{"filter":{"id_prefix":"none-"},"delay":"1h","version":"active"}`}, {"POST", "/v1/tasks:resubmit", `{"filter":{"id_prefix":"none-"}}`},
		{"POST", "/v1/tasks:remove", `{"filter":{"id_prefix":"none-","created_from":"2026-11-28T00:00:00Z"},"dry_run":true}`}, {"POST", "/v1/tasks:remove", `{}`}, {"GET", "/v1/jobs", ""}, {"GET", "/v1/jobs/1", ""}, {"POST", "/v1/jobs/1/cancel", ""},
		{"GET", "/v1/tokens?limit=2", ""}, {"GET", "/v1/tokens/ci", ""}, {"GET", "/v1/self", ""}, {"DELETE", "/v1/tokens/ci", ""},
		{"POST", "/v1/tokens", `{"name":"ci","roles":["read"],"ttl":"1h"}`}, {"POST", "/v1/tokens/ci/rotate", `{"overlap":"1h"}`},
		{"POST", "/v1/tokens:disable-root", ""}, {"GET", "/v1/tokens/CI", ""}, {"GET", "/v1/tokens/gone", ""},
		{"GET", "/v1/sign-in", ""}, {"POST", "/v1/sign-in", `{"token":"good"}`}, {"POST", "/v1/sign-in", `{"token":"bad","issuer":"corp"}`}, {"POST", "/v1/sign-in", `{}`},
		{"DELETE", "/v1/self", ""}, {"GET", "/v1/issuers", ""}, {"DELETE", "/v1/issuers/corp", ""}, {"DELETE", "/v1/issuers/gone", ""}, {"PUT", "/v1/issuers/corp", `{}`},
		{"PUT", "/v1/issuers/corp", `{"url":"https://id.example","client_id":"taskrt","rules":[{"claim":"sub","value":"ann","roles":["read"]}]}`},
		{"POST", "/v1/cluster/members/n1/approve", ""}, {"POST", "/v1/cluster/members/n1/demote", `{"force":true}`}, {"POST", "/v1/cluster/members/n1/remove", `{}`},
		{"POST", "/v1/cluster/members/n9/remove", ""}, {"POST", "/v1/cluster/members/n1/approve", `{"force":true}`}, {"POST", "/v1/cluster/transfer", `{"to":"n2"}`},
		{"GET", "/v1/snapshot?without_blobs=true&rate=65536", ""}, {"GET", "/v1/snapshot?rate=1", ""}, {"GET", "/v1/snapshot/holds", ""}, {"POST", "/v1/snapshot/begin", ""},
		{"GET", "/v1/failures?behavior=apitest.*&error=HANDLER_ERROR&limit=1", ""}, {"GET", "/v1/failures?limit=0", ""}, {"GET", "/v1/failures?namespace=gone", ""}, {"GET", "/v1/tasks/nobody/why", ""},
		{"GET", "/v1/audit?limit=2&refused=true", ""}, {"GET", "/v1/audit?refused=maybe", ""},
		{"GET", "/v1/stream", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), x.method, url+x.path, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: checker}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	checker.Report(t, true)
}

// records is an Audit that knows one record, with every field.
type records struct{}

func (records) FollowAudit(context.Context, auth.AuditRequest) (api.EventStream, error) {
	return nil, api.NewError(api.CodeNotReady, "no stream")
}

func (records) Audit(context.Context, auth.AuditRequest) (*auth.AuditReply, error) {
	return &auth.AuditReply{Cursor: "a1", LostRefusals: 4, Records: []auth.AuditRecord{{
		Number: 1, Index: 2, At: api.TimeOf(1), Token: "ci", From: "::1", Route: "GET /v1/tasks", Target: "default/", Code: api.CodeForbidden, Requests: 3,
	}}}, nil
}

// tokens is an Access that knows one token, with every field.
type tokens struct{}

func (tokens) Token(_ context.Context, name string) (*auth.Token, error) {
	if name != "ci" {
		return nil, api.NewError(api.CodeTokenNotFound, "no token %s", name)
	}
	at := api.TimeOf(1)
	return &auth.Token{
		Name: "ci", Roles: []string{"read"}, Namespaces: []string{"*"}, Behaviors: []string{"*"}, ExpiresAt: &at, CreatedAt: &at,
		CreatedBy: "root", RotatedAt: &at, FormerUntil: &at, Rate: 10, Rev: 7,
	}, nil
}

func (x tokens) Self(ctx context.Context) (*auth.Token, error) { return x.Token(ctx, "ci") }

func (x tokens) Tokens(ctx context.Context, _ auth.TokensRequest) (*auth.TokensReply, error) {
	one, err := x.Token(ctx, "ci")
	return &auth.TokensReply{Tokens: []auth.Token{*one}, Cursor: "next"}, err
}

func (x tokens) CreateToken(ctx context.Context, r auth.CreateTokenRequest) (*auth.CreatedToken, error) {
	one, err := x.Token(ctx, r.Name)
	return &auth.CreatedToken{Token: *one, Credential: "trt_secret"}, err
}

func (x tokens) RotateToken(ctx context.Context, r auth.RotateTokenRequest) (*auth.CreatedToken, error) {
	one, err := x.Token(ctx, r.Name)
	return &auth.CreatedToken{Token: *one}, err
}

func (tokens) RevokeToken(context.Context, string) error { return nil }
func (tokens) DisableRoot(context.Context) error         { return nil }
