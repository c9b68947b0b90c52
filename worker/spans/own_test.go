package spans

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/guestspans"
	"github.com/taskrt/taskrt/task"
)

// TestOwn: spans of a guest lie in one another, calls lie in them, and what is open at the end ends there (SPEC U2).
func TestOwn(t *testing.T) {
	t.Parallel()
	a := Of(&task.Task{Trace: given, Attempt: 1})
	h, own := a.Host(quiet{}), a.Own()
	save := func() { _ = h.Checkpoint(context.Background(), nil) }
	own.Begin(guestspans.Span{Name: "work", Attributes: []guestspans.Attribute{{Key: "rows", Value: "3"}}})
	own.Begin(guestspans.Span{Name: "part"})
	save()
	own.End("bad row")
	save()
	a.Ran(&runtime.Outcome{Started: 1, Ended: 2}, func() time.Time { return time.Unix(9e9, 0) }, 0)
	got := Of(&task.Task{Trace: given, Attempt: 1}).Measured(a.Append(nil)).Calls
	if len(got) != 4 || got[1].In != 1 || got[2].In != 2 || got[3].In != 1 || got[0].Attributes[0].Value != "3" {
		t.Fatalf("%+v", got)
	}
	if got[0].Ended != a.Ended || got[0].Failed || !got[1].Failed || got[1].Why != "bad row" || got[1].Ended < got[1].Began || got[1].Ended == a.Ended {
		t.Errorf("%+v", got)
	}
	var none *Attempt
	if none.Own() != nil {
		t.Error("nobody wants spans, and somebody notes them")
	}
}

// TestOwnFlood: however many spans a guest begins, and however much they say, what is kept is bounded; each end still ends its own.
func TestOwnFlood(t *testing.T) {
	t.Parallel()
	a := Of(&task.Task{Trace: given, Attempt: 1})
	own := a.Own()
	own.Begin(guestspans.Span{Name: "first"})
	for range 10 * MaxCalls {
		own.Begin(guestspans.Span{Name: "s"})
		own.End("")
	}
	own.End("last")
	if len(a.Calls) != MaxCalls || a.More != 9*MaxCalls+1 || a.Calls[0].Why != "last" || a.Calls[MaxCalls-1].In != 1 {
		t.Errorf("%d, %d more: %+v", len(a.Calls), a.More, a.Calls[:2])
	}
	b := Of(&task.Task{Trace: given, Attempt: 1})
	large := guestspans.Span{Name: "s", Attributes: []guestspans.Attribute{{Key: "k", Value: strings.Repeat("v", MaxText/4)}}}
	for range 6 {
		b.Own().Begin(large)
	}
	_ = b.Host(quiet{}).Checkpoint(context.Background(), nil)
	if len(b.Calls) != 4 || b.More != 3 || b.Calls[3].In != 3 {
		t.Errorf("%d, %d more: %+v", len(b.Calls), b.More, b.own.open)
	}
}

// TestOwnMeasured: what comes from where guests run is brought into the bounds, whatever it is (SPEC A10).
func TestOwnMeasured(t *testing.T) {
	t.Parallel()
	known := Of(&task.Task{Trace: given, Attempt: 1})
	long := strings.Repeat("x", abi.MaxSpanText+1)
	lie := &Attempt{Calls: []Call{
		{Name: long, Own: true, In: 1},
		{Name: "s", Own: true, In: -5, Why: long, Attributes: []guestspans.Attribute{{Key: "taskrt.task", Value: "another"}}},
		{Name: "checkpoint", In: 2, Why: "x", Attributes: []guestspans.Attribute{{Key: "k"}}},
		{Name: "checkpoint", In: 3},
	}}
	got := known.Measured(lie.Append(nil)).Calls
	if got[0].Name != "span" || got[0].In != 0 || got[1].Name != "span" || got[1].In != 0 || got[1].Why != "" || got[1].Attributes != nil {
		t.Errorf("%+v", got[:2])
	}
	if got[2].In != 2 || got[2].Why != "" || got[2].Attributes != nil || got[3].In != 0 {
		t.Errorf("%+v", got[2:])
	}
}
