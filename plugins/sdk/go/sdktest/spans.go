package sdktest

import (
	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

// span answers span.begin and span.end by what a host checks, too.
func (a *attempt) span(op abi.Op, payload []byte) int32 {
	hide := func(text []byte) []byte { return text } // the test knows the secrets
	if errno := a.began.Call(op, payload, hide, noted{a}); errno != 0 {
		return int32(errno)
	}
	return a.respond([]byte{})
}

// noted notes the spans of an attempt for the test.
type noted struct{ *attempt }

// Begin implements guestspans.Spans.
func (a noted) Begin(s guestspans.Span) {
	var attributes []string
	for _, x := range s.Attributes {
		attributes = append(attributes, x.Key+"="+x.Value)
	}
	a.Spans = append(a.Spans, Span{Name: s.Name, Attributes: attributes, Depth: len(a.open)})
	a.open = append(a.open, len(a.Spans)-1)
}

// End implements guestspans.Spans.
func (a noted) End(why string) {
	last := len(a.open) - 1
	s := &a.Spans[a.open[last]]
	s.Ended, s.Why = true, why
	a.open = a.open[:last]
}
