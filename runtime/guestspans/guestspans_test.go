package guestspans

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
)

func begin(o *Open, payload string) abi.Errno {
	return o.Call(abi.OpSpanBegin, []byte(payload), nil, nil)
}
func end(o *Open, why string) abi.Errno { return o.Call(abi.OpSpanEnd, []byte(why), nil, nil) }

// TestBounds: what a span may say is bounded, and so is how many are open.
func TestBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", abi.MaxSpanText+1)
	for payload, want := range map[string]abi.Errno{
		"": abi.EINVAL, "a": 0, "Grüße 1": 0, long[:abi.MaxSpanName]: 0, long[:abi.MaxSpanName+1]: abi.E2BIG, "a\x00": abi.EINVAL, "\xff": abi.EINVAL,
		"a\n": abi.EINVAL, "a\nk": abi.EINVAL, "a\nk=": 0, "a\nk=v=w": 0, "a\n=v": abi.EINVAL, "a\nK=v": abi.EINVAL, "a\nk=\xff": abi.EINVAL,
		"a\ntaskrt.task=v": abi.EINVAL, "a\nk=" + long[1:]: 0, "a\nk=" + long: abi.E2BIG, "a\n" + long[:abi.MaxSpanName+1] + "=v": abi.E2BIG,
		"a" + strings.Repeat("\nk=v", abi.MaxSpanAttributes): 0, "a" + strings.Repeat("\nk=v", abi.MaxSpanAttributes+1): abi.E2BIG,
	} {
		if got := begin(new(Open), payload); got != want {
			t.Errorf("%q: %d, want %d", payload, got, want)
		}
	}
	o := new(Open)
	for range abi.MaxOpenSpans {
		if got := begin(o, "a"); got != 0 {
			t.Fatal(got)
		}
	}
	if got := begin(o, "a"); got != abi.E2BIG {
		t.Errorf("one more is open: %d", got)
	}
	if got := end(o, long); got != abi.E2BIG {
		t.Errorf("a long reason: %d", got)
	}
	for range abi.MaxOpenSpans {
		if got := end(o, ""); got != 0 {
			t.Fatal(got)
		}
	}
	if got := end(o, ""); got != abi.ENOENT {
		t.Errorf("an end of nothing: %d", got)
	}
}
