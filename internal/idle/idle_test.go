package idle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		begun := time.Now()
		if !idle.For(ctx, time.Minute) || time.Since(begun) != time.Minute {
			t.Errorf("waited %v, want a minute", time.Since(begun))
		}
		if idle.For(ctx, time.Minute) || time.Since(begun) != 90*time.Second {
			t.Errorf("ended after %v, want with the context", time.Since(begun))
		}
	})
}
