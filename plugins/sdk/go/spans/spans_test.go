package spans_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/spans"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

var body func(*sdk.Context) error

func init() {
	sdk.Register(sdk.Behavior{Name: "any", Run: func(c *sdk.Context) error { return body(c) }})
}

func run(t *testing.T, h *sdktest.Host, f func(*sdk.Context) error) {
	t.Helper()
	body = f
	sdktest.Run(t, "any", h)
}

// TestSpan: spans nest, end once, and say only what a host takes (SPEC U2).
func TestSpan(t *testing.T) {
	h := &sdktest.Host{}
	run(t, h, func(c *sdk.Context) error {
		outer := spans.Begin(c, "work", "file", "a\nb", "rows", "3")
		inner := spans.Begin(c, "part")
		inner.Fail(errors.New("row 7\nis bad"))
		inner.End()
		last := spans.Begin(c, "last")
		last.Fail(nil)
		refused := spans.Begin(c, "x", "BAD KEY", "v")
		refused.End() // nothing: what is around it goes on
		if h.Spans[0].Ended {
			t.Error("the outer span is over")
		}
		outer.End()
		spans.Begin(c, "open")
		return nil
	})
	want := "[{work [file=a b rows=3] 0 true } {part [] 1 true row 7 is bad} {last [] 1 true } {open [] 0 false }]"
	if got := fmt.Sprint(h.Spans); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSpanIsTaken: a host takes what the SDK makes of long and strange text, and of too many attributes and spans.
func TestSpanIsTaken(t *testing.T) {
	strange := strings.Repeat("ü\xff\x00€", 200)
	many := make([]string, 0, 40)
	for i := range 20 {
		many = append(many, fmt.Sprint("k", i), strange)
	}
	h := &sdktest.Host{}
	run(t, h, func(c *sdk.Context) error {
		spans.Begin(c, "", many[:3]...)
		spans.Begin(c, strange, many...)
		for range 2 * abi.MaxOpenSpans {
			spans.Begin(c, "s")
		}
		return nil
	})
	if len(h.Spans) != abi.MaxOpenSpans || len(h.Spans[1].Attributes) != abi.MaxSpanAttributes {
		t.Fatalf("%d spans, %v", len(h.Spans), h.Spans[1])
	}
	for _, s := range h.Spans {
		if _, errno := guestspans.Parse([]byte(strings.Join(append([]string{s.Name}, s.Attributes...), "\n"))); errno != 0 {
			t.Errorf("%+v: %d", s, errno)
		}
	}
}

// TestSpanIsRefused: the test's host takes no key that a host does not.
func TestSpanIsRefused(t *testing.T) {
	h := &sdktest.Host{}
	run(t, h, func(c *sdk.Context) error {
		for _, key := range []string{"taskrt.task", "Rows", "", strings.Repeat("k", abi.MaxSpanName+1)} {
			span := spans.Begin(c, "s", key, "v")
			span.End()
		}
		return nil
	})
	if len(h.Spans) != 0 {
		t.Errorf("%+v", h.Spans)
	}
}
