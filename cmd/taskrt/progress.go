package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
)

// showProgress keeps a line about the task on standard error while it is waited for, if that is a terminal.
func (c *client) showProgress(t *api.Task) (stop func()) {
	return c.whileWaiting(func(ctx context.Context, client *api.Client, line func(string)) {
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

// whileWaiting lets show write a line on standard error, again and again, if that is a terminal. It does so beside the wait,
// with long polls of a client of its own; stop ends it and wipes the line.
func (c *client) whileWaiting(show func(ctx context.Context, client *api.Client, line func(string))) (stop func()) {
	if !isTerminal(c.stderr) {
		return func() {}
	}
	client, err := api.NewClient(api.ClientConfig{URLs: c.urls})
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	done, began := make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		defer client.Close()
		show(ctx, client, func(text string) {
			fmt.Fprintf(c.stderr, "\r\x1b[K%s  %s", time.Since(began).Truncate(time.Second), text)
		})
	}()
	return func() {
		cancel()
		<-done
		fmt.Fprint(c.stderr, "\r\x1b[K")
	}
}

// barWidth is how many characters a progress bar has.
const barWidth = 20

// progress shows {"done":…,"total":…}, which guests' heartbeats make, as a bar, and anything else as it is.
func progress(p json.RawMessage) string {
	var at struct {
		Done  int64 `json:"done"`
		Total int64 `json:"total"`
	}
	if json.Unmarshal(p, &at) != nil || at.Total <= 0 || at.Done < 0 || at.Done > at.Total {
		return clip(p, 60)
	}
	return bar(at.Done, at.Total)
}

// bar draws 0 ≤ done ≤ total, total > 0.
func bar(done, total int64) string {
	share := float64(done) / float64(total)
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %d %%", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(100*share))
}

func clip(b []byte, n int) string {
	if len(b) > n {
		return string(b[:n]) + "…"
	}
	return string(b)
}

// isTerminal reports whether a stream is a character device: a terminal, as far as a progress line or a question needs to
// know.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
