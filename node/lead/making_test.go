package lead

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// TestStandOfUnready: how far a worker is with the module of a task is known while it says so, by this node's clock, and no longer (SPEC Q4).
func TestStandOfUnready(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(stream.Hello{Credits: 4})
		b.submit("one")
		p.receive()
		says := func(say ...stream.Unready) []Preparation {
			t.Helper()
			if err := p.conn.Send(stream.Frame{Unready: say}); err != nil {
				t.Fatal(err)
			}
			p.receive()
			s := b.term.loop.stand(b.machine, task.Key{Namespace: task.DefaultNamespace, ID: "one"})
			if len(s.Workers[Unready]) != 1 {
				t.Fatalf("%+v", s)
			}
			return s.Preparing
		}
		fetching := stream.Unready{Module: "m", Step: stream.Fetching, For: 1500, Failed: 2, Error: "no"}
		got := says(stream.Unready{Module: "other", Step: stream.Queued}, fetching)
		if len(got) != 1 || got[0].Unready != fetching || !got[0].Since.Equal(time.Now().Add(-1500*time.Millisecond)) {
			t.Errorf("%+v", got)
		}
		if got := says(stream.Unready{Module: "m", Step: "bored"}); len(got) != 1 || got[0].Unready != fetching {
			t.Errorf("after a word that no worker has: %+v", got)
		}
		if got := says(stream.Unready{Module: "m"}); len(got) != 0 {
			t.Errorf("when it is over: %+v", got)
		}
	})
}
