package apitest

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// OverHTTP serves s and returns a client of it; before are URLs that the client tries first.
func OverHTTP(t *testing.T, s api.Service, before ...string) *api.Client {
	t.Helper()
	server := httptest.NewServer(api.NewHandler(s, api.HandlerConfig{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	client, err := api.NewClient(api.ClientConfig{URLs: append(before, server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
