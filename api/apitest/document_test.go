package apitest

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/taskrt/taskrt/api/server"
)

// TestTheCheckerChecks: a document that says too little is noticed.
func TestTheCheckerChecks(t *testing.T) {
	f := NewFake()
	defer f.Close()
	server := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler)}))
	defer server.Close()
	c := NewDocument(t, server.URL)
	task := c.operations[slices.IndexFunc(c.operations, func(d *documented) bool { return d.name == "getTask" })].statuses[200]["application/json"]
	for text, fits := range map[string]bool{
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"2026-01-01T00:00:00.000Z","history":[],"labels":{},"priority":4}}`:         true,
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"2026-01-01T00:00:00.000Z","history":[],"labels":{},"priority":4,"new":1}}`: false,
		`{"task":{"namespace":"default","id":"abc","behavior":"b","status":"CREATED","final":false,"attempt":0,"failures":0,"lost_count":0,"rev":1,"created_at":"yesterday","history":[],"labels":{},"priority":4}}`:                        false,
		`{"task":{"namespace":"default"}}`: false,
		`{"task":null}`:                    false,
	} {
		var invalid *jsonschema.ValidationError
		err := validate(task, []byte(text))
		if fits != (err == nil) || err != nil && !errors.As(err, &invalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
