package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

// TestWaitsOutliveElections: a wait goes on without a leader for as long as the caller said, and not longer than any request would (SPEC W1).
func TestWaitsOutliveElections(t *testing.T) {
	const wait = time.Minute
	for name, ask := range map[string]func(ctx context.Context, c *client.Client) error{
		"task": func(ctx context.Context, c *client.Client) error {
			_, err := c.Task(ctx, "", "one", api.GetOptions{Wait: wait})
			return err
		},
		"operation": func(ctx context.Context, c *client.Client) error {
			_, err := c.Operation(ctx, "", "one", api.OperationGet{Wait: wait})
			return err
		},
	} {
		for _, led := range []time.Duration{50 * time.Second, time.Hour} { // when there is a leader again
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				c, err := client.New(client.Config{URLs: []string{"http://x"}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					w := httptest.NewRecorder()
					if time.Since(begun) < led {
						w.Header().Set("Content-Type", "application/problem+json")
						w.WriteHeader(http.StatusServiceUnavailable)
						fmt.Fprint(w, `{"code":"no_leader"}`)
						return w.Result(), nil
					}
					asked, err := time.ParseDuration(r.URL.Query().Get("wait"))
					if left := wait - time.Since(begun); err != nil || asked > left {
						t.Errorf("%s: asks for %v more, with %v left: %v", name, asked, left, err)
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{%q:{"id":"one","status":"SUCCESS","final":true}}`, name)
					return w.Result(), nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				err = ask(t.Context(), c)
				took := time.Since(begun)
				if led < wait && (err != nil || took > wait) {
					t.Errorf("%s: %v after %v, with a leader after %v", name, err, took, led)
				}
				if led > wait && (api.CodeOf(err) != api.CodeNoLeader || took < wait-2*time.Second || took > wait+15*time.Second) {
					t.Errorf("%s: %v after %v without a leader", name, err, took)
				}
			})
		}
	}
}
