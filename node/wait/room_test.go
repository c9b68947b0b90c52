package wait

import (
	"fmt"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/nodetest"
	"github.com/taskrt/taskrt/task"
)

// TestRoomForTasks: no more tasks are waited for than there is room for, however many requests come at the same time. Those that have gone leave all of
// their room, and those that were refused take none.
func TestRoomForTasks(t *testing.T) {
	const each, fit, requests, rounds = 200, 3, 12, 300
	keys := make([]task.Key, each)
	for i := range keys {
		keys[i] = task.Key{Namespace: "default", ID: fmt.Sprint("x", i)}
	}
	inDispatcher(t, func(d *Dispatcher, _ *nodetest.Script) {
		const others = MaxTasks - fit*each - 1
		d.count = others // as if so many waited
		for round := range rounds {
			var wg sync.WaitGroup
			taken := make([][]*Waiter, requests)
			begin := make(chan struct{})
			for i := range requests {
				wg.Go(func() {
					<-begin
					taken[i] = d.Tasks(keys, api.Until{Kind: "final"}, 0, func() {})
				})
			}
			close(begin)
			wg.Wait()
			n := 0
			for _, ws := range taken {
				if ws != nil {
					n++
				}
				for _, w := range ws {
					w.Stop()
				}
			}
			if n != fit {
				t.Fatalf("round %d: %d requests were taken, there is room for %d", round, n, fit)
			}
			if d.count != others {
				t.Fatalf("round %d: %d are counted that do not wait", round, d.count-others)
			}
		}
		d.count = 0
	})
}
