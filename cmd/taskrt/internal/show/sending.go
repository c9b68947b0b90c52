package show

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/terminal"
)

// SendingPulse is how often the line about what is being sent is drawn.
const SendingPulse = 200 * time.Millisecond

// sendingQuiet is after how long a line is written without a terminal, too.
const sendingQuiet = 2 * time.Second

// Sending tells people of something large on its way to the cluster, of total bytes (0: unknown); sent counts them. It shows a bar,
// then how long the cluster works on it; without a terminal it writes a line if that takes long. stop ends it.
func Sending(out *terminal.Output, sent *atomic.Int64, what string, total int64) (stop func()) {
	sent.Store(0)
	began, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	line := func() string {
		n, since := sent.Load(), time.Since(began).Truncate(time.Second)
		switch {
		case total > 0 && n < total:
			return fmt.Sprintf("%s  sending %s  %s of %s", since, what, terminal.Bar(n, total), Bytes(total))
		case total > 0:
			return fmt.Sprintf("%s  %s is sent (%s), the cluster works on it", since, what, Bytes(n))
		}
		return fmt.Sprintf("%s  sending %s  %s", since, what, Bytes(n))
	}
	go func() {
		defer close(done)
		pulse := time.NewTicker(SendingPulse)
		defer pulse.Stop()
		quiet := time.NewTimer(sendingQuiet)
		defer quiet.Stop()
		for {
			select {
			case <-quit:
				out.EndStatus()
				return
			case <-pulse.C:
				out.Status("%s", line())
			case <-quiet.C:
				if !out.Draws() {
					_ = out.Printf("%s\n", line()) // it goes on without
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
