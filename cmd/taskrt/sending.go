package main

import (
	"fmt"
	"time"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Times of the line about what is being sent.
const (
	sendingPulse = 200 * time.Millisecond // how often the line is drawn
	sendingQuiet = 2 * time.Second        // after so long a line is written without a terminal, too
)

// sending tells people of something large on its way to the cluster, of total bytes (0: unknown). It shows a bar,
// then how long the cluster works on it; without a terminal it writes a line if that takes long. stop ends it.
func (c *client) sending(what string, total int64) (stop func()) {
	c.sent.Store(0)
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	line := func() string {
		n, since := c.sent.Load(), time.Since(began).Truncate(time.Second)
		switch {
		case total > 0 && n < total:
			return fmt.Sprintf("%s  sending %s  %s of %s", since, what, terminal.Bar(n, total), show.Bytes(total))
		case total > 0:
			return fmt.Sprintf("%s  %s is sent (%s), the cluster works on it", since, what, show.Bytes(n))
		}
		return fmt.Sprintf("%s  sending %s  %s", since, what, show.Bytes(n))
	}
	go func() {
		defer close(done)
		pulse := time.NewTicker(sendingPulse)
		defer pulse.Stop()
		quiet := time.NewTimer(sendingQuiet)
		defer quiet.Stop()
		for {
			select {
			case <-quit:
				c.stderr.EndStatus()
				return
			case <-pulse.C:
				c.stderr.Status("%s", line())
			case <-quiet.C:
				if !c.stderr.Draws() {
					_ = c.stderr.Printf("%s\n", line()) // it goes on without
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
