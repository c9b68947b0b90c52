package show_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// TestSendingWithoutATerminal: a transfer that takes long says so once where there is no terminal; a short one is
// silent.
func TestSendingWithoutATerminal(t *testing.T) {
	for _, c := range []struct {
		total int64
		took  int // pulses
		want  string
	}{
		{5_000_000, 1, ""},
		{5_000_000, 100, "2s  sending module.wasm  [....................] 0 % of 5000 KB\n"},
		{0, 100, "2s  sending module.wasm  0 bytes\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			var sent atomic.Int64
			stop := show.Sending(terminal.New(&b), &sent, "module.wasm", c.total)
			time.Sleep(time.Duration(c.took)*show.SendingPulse + 1) // of the bubble
			stop()
			if b.String() != c.want {
				t.Errorf("%+v: %q", c, b.String())
			}
		})
	}
}
