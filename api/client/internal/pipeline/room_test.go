package pipeline

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// TestRoomComesBack: submits count against the room of a pipeline until they have their answers or are given up, and no longer. Each way out of a
// pipeline takes twice as many bytes as there is room for in all.
func TestRoomComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length, many = pipelineBytes / 16, 2 * 16
		body := make([]byte, length)
		var letGo chan struct{} // nil: requests are answered at once
		p := New(Config{Bytes: 3 * length, Unsent: "unsent", Send: func(ctx context.Context, _ Kind, bodies [][]byte) []Answer {
			if letGo != nil {
				select {
				case <-letGo:
				case <-ctx.Done():
				}
			}
			return make([]Answer, len(bodies))
		}})
		free := func(what string) {
			t.Helper()
			synctest.Wait()
			if !p.room.TryAcquire(pipelineBytes) {
				t.Fatalf("%s: some of the room is kept", what)
			}
			p.room.Release(pipelineBytes)
			p.mu.Lock()
			defer p.mu.Unlock()
			for kind, l := range p.lanes {
				if l.flights != 0 || len(l.waiting) != 0 {
					t.Fatalf("%s: lane %v has %d requests under way, %d submits wait", what, kind, l.flights, len(l.waiting))
				}
			}
		}
		var wg sync.WaitGroup
		all := func(ctx context.Context, body []byte) {
			for i := range many {
				wg.Go(func() { p.Submit(ctx, Kind{Resend: i%2 == 0}, body) })
			}
		}
		all(t.Context(), body)
		wg.Wait()
		free("answered")
		for range 2 {
			p.Submit(t.Context(), Kind{}, make([]byte, pipelineBytes+1))
		}
		free("longer than the room")
		gone, cancel := context.WithCancel(t.Context())
		letGo = make(chan struct{})
		all(gone, body) // some are under way, some wait for a request, some for room
		synctest.Wait()
		if p.room.TryAcquire(1) {
			t.Fatal("there is room")
		}
		cancel()
		wg.Wait()
		free("given up")
		all(gone, body)
		wg.Wait()
		free("given up before")
		all(t.Context(), body)
		synctest.Wait()
		p.Close()
		wg.Wait()
		free("closed meanwhile")
		all(t.Context(), body)
		wg.Wait()
		free("closed before")
	})
}
