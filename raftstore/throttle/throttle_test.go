package throttle

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRate: a snapshot is written at the rate that leaves room for the log. In a hurry it is written at full
// speed.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hurry, abort := make(chan struct{}), make(chan struct{})
		write := func() (time.Duration, error) {
			begun := time.Now()
			w := Rate{1000, hurry, abort}.Limit(&bytes.Buffer{})
			for range 10 {
				if _, err := w.Write(make([]byte, 500)); err != nil {
					return 0, err
				}
			}
			return time.Since(begun), nil
		}
		if d, err := write(); err != nil || d != 5*time.Second {
			t.Fatalf("5,000 bytes at 1,000/s took %v (%v)", d, err)
		}
		close(hurry)
		if d, err := write(); err != nil || d != 0 {
			t.Fatalf("in a hurry: %v (%v)", d, err)
		}
		close(abort)
		if _, err := write(); !errors.Is(err, ErrAborted) {
			t.Fatalf("given up: %v", err)
		}
	})
}
