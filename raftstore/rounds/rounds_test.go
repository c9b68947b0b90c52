package rounds_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/raftstore/rounds"
)

// TestRounds: whoever comes while a round is under way waits for the next one, which all who wait share.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rounds.New()
		ctx, cancel := context.WithCancel(t.Context())
		asked := uint64(0)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx, func(context.Context) (uint64, error) {
				asked++
				<-time.After(time.Second)
				if asked == 3 {
					return 0, errors.ErrUnsupported
				}
				return asked, nil
			})
		}()
		answers := make(chan uint64, 100)
		join := func() {
			i, err := r.Join(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			answers <- i
		}
		go join()
		synctest.Wait()
		for range 10 {
			go join()
		}
		for want := range 11 {
			if i := <-answers; i != uint64(min(want+1, 2)) {
				t.Fatalf("answer %d is of round %d", want, i)
			}
		}
		if _, err := r.Join(t.Context(), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
		cancel()
		<-ended
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Join(short, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		done := make(chan struct{})
		close(done)
		if _, err := r.Join(t.Context(), done); !errors.Is(err, rounds.ErrEnded) {
			t.Fatal(err)
		}
	})
}
