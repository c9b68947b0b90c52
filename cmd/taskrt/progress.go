package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/terminal"
)

// showProgress keeps a line about the task on standard error while the command waits for the task, if standard error
// is a terminal.
func (c *client) showProgress(t *api.Task) (stop func()) {
	return c.whileWaiting(func(ctx context.Context, client *apiclient.Client, line func(string)) {
		for !t.Final {
			line(state(t) + "  " + progress(t.Progress))
			next, err := client.Task(ctx, t.Namespace, t.ID, api.GetOptions{Wait: time.Second, Until: fmt.Sprintf("rev:%d", t.Rev+1)})
			if err != nil {
				return // the wait itself says what is wrong
			}
			t = next
		}
	})
}

// whileWaiting lets show write a line on standard error, again and again, if standard error is a terminal. It does so
// beside the wait, by long polls of a client of its own; stop ends it and wipes the line.
func (c *client) whileWaiting(show func(ctx context.Context, client *apiclient.Client, line func(string))) (stop func()) {
	if !c.stderr.Draws() {
		return func() {}
	}
	client, err := apiclient.New(apiclient.Config{URLs: c.urls, TLS: c.tls})
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	done, began := make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		defer client.Close()
		show(ctx, client, func(text string) {
			c.stderr.Status("%s  %s", time.Since(began).Truncate(time.Second), text)
		})
	}()
	return func() {
		cancel()
		<-done
		c.stderr.EndStatus()
	}
}

// progress shows {"done":…,"total":…}, which guests' heartbeats make, as a bar, and any other JSON as it is.
func progress(p json.RawMessage) string {
	var at struct {
		Done  int64 `json:"done"`
		Total int64 `json:"total"`
	}
	if json.Unmarshal(p, &at) != nil || at.Total <= 0 || at.Done < 0 || at.Done > at.Total {
		return clip(p, 60)
	}
	return terminal.Bar(at.Done, at.Total)
}

// clip is the beginning of a JSON text.
func clip(b []byte, n int) string { return terminal.Clip(string(b), n) }
