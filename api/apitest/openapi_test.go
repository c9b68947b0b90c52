package apitest_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
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
			Logger: slog.New(slog.DiscardHandler),
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
	checker.Report(t, true)
}
