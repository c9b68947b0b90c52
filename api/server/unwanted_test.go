package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api/stream"
)

// TestStreamOfAnUnwantedAnswer: a cancel that comes when the tasks of an accept have been answered gives them back, once. A number that is used again
// says that the former answer has come. What is long past is not kept (SPEC J2, H5).
func TestStreamOfAnUnwantedAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		accept := func() uint64 {
			t.Helper()
			q := []stream.Request{{Method: "POST", Path: "/v1/behaviors/bee/accept", Body: json.RawMessage(`{"worker":"w"}`)}}
			if a := come(t, send(t, c, q...)[0]); a.Status != 200 {
				t.Fatalf("%+v", a)
			}
			return q[0].N
		}
		expect := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			if _, _, undone := s.counts(); undone != want {
				t.Errorf("%s: %d given back, want %d", what, undone, want)
			}
		}
		first := accept()
		for range stream.MaxUnderWay {
			accept()
		}
		expect("no cancel", 0)
		for range 2 {
			send(t, c, stream.Request{N: first, Cancel: true})
			expect("the cancel of the first of many", 1)
		}
		raw := b.raw("n1")
		defer raw.Close()
		for _, q := range []string{`"method":"POST","path":"/v1/behaviors/bee/accept","body":{"worker":"w"}`, `"method":"GET","path":"/v1/tasks/one"`, `"cancel":true`} {
			b.message(raw, `{"requests":[{"n":1,`+q+`}]}`+strings.Repeat(" ", 126))
			synctest.Wait()
		}
		expect("the cancel of another request with the number", 1)
		old := accept()
		time.Sleep(2 * time.Minute)
		send(t, c, stream.Request{N: old, Cancel: true})
		expect("a cancel two minutes later", 1)
	})
}
