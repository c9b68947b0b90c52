package plugintest

import (
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

// Span is a span of the plugin's own.
type Span = sdktest.Span

// noted are the spans of one attempt, as they are added to the Host's.
type noted struct {
	h    *Host
	open []int // by their places
}

// Begin implements guestspans.Spans.
func (n *noted) Begin(s guestspans.Span) {
	var attributes []string
	for _, x := range s.Attributes {
		attributes = append(attributes, x.Key+"="+x.Value)
	}
	n.open = append(n.open, len(n.h.Spans))
	n.h.Spans = append(n.h.Spans, Span{Name: s.Name, Attributes: attributes, Depth: len(n.open) - 1})
}

// End implements guestspans.Spans.
func (n *noted) End(why string) {
	last := len(n.open) - 1
	s := &n.h.Spans[n.open[last]]
	s.Ended, s.Why = true, why
	n.open = n.open[:last]
}
