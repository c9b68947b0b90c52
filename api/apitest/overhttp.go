package apitest

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
)

// OverHTTP serves s, and returns a client of it. The client tries the URLs before first.
func OverHTTP(t *testing.T, s api.Service, before ...string) *client.Client {
	t.Helper()
	server := httptest.NewServer(server.New(s, server.Config{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Close)
	client, err := client.New(client.Config{URLs: append(before, server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
