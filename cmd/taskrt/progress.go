package main

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
)

// showProgress keeps a line about the task on standard error while the command waits for the task, if standard error
// is a terminal.
func (c *client) showProgress(t *api.Task) (stop func()) {
	return c.whileWaiting(func(ctx context.Context, client *apiclient.Client, line func(string)) {
		for !t.Final {
			line(show.State(t) + "  " + show.Progress(t.Progress))
			next, err := client.Task(ctx, t.Namespace, t.ID, api.GetOptions{Wait: time.Second, Until: fmt.Sprintf("rev:%d", t.Rev+1)})
			if err != nil {
				return // the wait itself says what is wrong
			}
			t = next
		}
	})
}

// whileWaiting lets draw write a line on standard error, again and again, if standard error is a terminal. It does so
// beside the wait, by long polls of a client of its own; stop ends it and wipes the line.
func (c *client) whileWaiting(draw func(ctx context.Context, client *apiclient.Client, line func(string))) (stop func()) {
	if !c.stderr.Draws() {
		return func() {}
	}
	client, err := apiclient.New(c.config)
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	done, began := make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		defer client.Close()
		draw(ctx, client, func(text string) {
			c.stderr.Status("%s  %s", time.Since(began).Truncate(time.Second), text)
		})
	}()
	return func() {
		cancel()
		<-done
		c.stderr.EndStatus()
	}
}
