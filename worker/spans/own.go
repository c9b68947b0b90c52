package spans

import (
	"time"

	"github.com/taskrt/taskrt/runtime/guestspans"
)

// MaxText bounds the bytes of all names and attributes of the guest's own spans of an attempt. A span that goes beyond is counted, not shown.
const MaxText = 32 << 10

// nesting knows which spans of the guest are open.
type nesting struct {
	open []int // indices in Calls, the innermost last; notShown: it is beyond the bounds
	text int   // bytes of MaxText that are used
}

const notShown = -1

// in returns Call.In of what begins now.
func (n *nesting) in() int {
	for i := len(n.open) - 1; i >= 0; i-- {
		if n.open[i] != notShown {
			return n.open[i] + 1
		}
	}
	return 0
}

// Own returns what notes the guest's own spans; nil: nobody wants them (SPEC U2).
func (a *Attempt) Own() guestspans.Spans {
	if a == nil {
		return nil
	}
	return own{a}
}

type own struct{ a *Attempt }

// Begin implements guestspans.Spans.
func (o own) Begin(s guestspans.Span) {
	a, text := o.a, len(s.Name)
	for _, x := range s.Attributes {
		text += len(x.Key) + len(x.Value)
	}
	if len(a.Calls) >= MaxCalls || a.own.text+text > MaxText {
		a.More++
		a.own.open = append(a.own.open, notShown)
		return
	}
	a.own.text += text
	in := a.own.in()
	a.own.open = append(a.own.open, len(a.Calls))
	a.Calls = append(a.Calls, Call{Name: s.Name, Own: true, In: in, Attributes: s.Attributes, Began: time.Now().UnixNano()})
}

// End implements guestspans.Spans.
func (o own) End(why string) {
	n := &o.a.own
	last := len(n.open) - 1
	i := n.open[last]
	n.open = n.open[:last]
	if i != notShown {
		c := &o.a.Calls[i]
		c.Ended, c.Failed, c.Why = time.Now().UnixNano(), why != "", why
	}
}

// endOwn ends the spans that the guest left open, where the guest ended.
func (a *Attempt) endOwn() {
	for _, i := range a.own.open {
		if i != notShown {
			a.Calls[i].Ended = a.Ended
		}
	}
	a.own.open = nil
}

// bound brings what came from where guests run into the bounds; former are the calls before it.
func (c *Call) bound(former []Call) {
	if c.In < 0 || c.In > len(former) || c.In > 0 && !former[c.In-1].Own {
		c.In = 0
	}
	if !c.Own {
		c.Attributes, c.Why = nil, ""
		if !Names[c.Name] {
			c.Name = "call"
		}
		return
	}
	why := guestspans.Span{Name: "why", Attributes: []guestspans.Attribute{{Key: "why", Value: c.Why}}}
	if why.Check() != 0 {
		c.Why = ""
	}
	s := guestspans.Span{Name: c.Name, Attributes: c.Attributes}
	if s.Check() != 0 {
		c.Name, c.Attributes = "span", nil
	}
}
