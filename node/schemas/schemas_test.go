package schemas

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// TestLargeChecksTakeTurns: nothing interrupts a check against a schema. So large values are checked one after the
// other, and a request that leaves while it waits is not checked at all. Small values do not wait.
func TestLargeChecksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		schema := []byte(`{"type": "string"}`)
		value := func(size int) task.Payload {
			return task.Payload{Encoding: task.JSON, Data: []byte(`"` + strings.Repeat("x", size-2) + `"`)}
		}
		s.large <- struct{}{} // another value is being checked
		if err := s.Params(t.Context(), schema, value(largeCheck-1)); err != nil {
			t.Errorf("a small value: %v", err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { left <- s.Params(ctx, schema, value(largeCheck)) }()
		go func() { stayed <- s.Result(t.Context(), []byte(`{"type": "number"}`), value(largeCheck)) }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who has left: %v", err)
		}
		synctest.Wait()
		select {
		case err := <-stayed:
			t.Fatalf("checked beside another: %v", err)
		default:
		}
		<-s.large
		if err := <-stayed; api.CodeOf(err) != api.CodeResultSchema {
			t.Errorf("who has stayed: %v", err)
		}
		if err := s.Params(t.Context(), schema, value(2*largeCheck)); err != nil {
			t.Errorf("the turn was not given back: %v", err)
		}
	})
}
