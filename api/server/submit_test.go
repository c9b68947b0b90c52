package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestStopDuringSubmitAndWait: a node that stops while a submit waits does not say that nothing happened, because the task is
// there.
func TestStopDuringSubmitAndWait(t *testing.T) {
	a := stopDuring(t, func(c *http.Client, base string) (*http.Response, error) {
		return c.Post(base+"/v1/tasks?wait=5m", "application/json", strings.NewReader(`{"behavior":"apitest.ok","id":"later-2","delay":"1h"}`))
	})
	if !strings.HasPrefix(a, "201 ") || !strings.Contains(a, `"id":"later-2"`) || !strings.Contains(a, `"timed_out":true`) {
		t.Errorf("the submit got %s", a)
	}
}
