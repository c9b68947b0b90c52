package sdktest

import (
	"strings"

	"github.com/taskrt/taskrt/abi"
)

// beginSpan answers span.begin. It checks less of the payload than a host does.
func (a *attempt) beginSpan(payload string) int32 {
	lines := strings.Split(payload, "\n")
	for _, line := range lines[1:] {
		if key, _, ok := strings.Cut(line, "="); !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
			return int32(abi.EINVAL)
		}
	}
	if lines[0] == "" {
		return int32(abi.EINVAL)
	}
	if len(a.open) == abi.MaxOpenSpans {
		return int32(abi.E2BIG)
	}
	a.Spans = append(a.Spans, Span{Name: lines[0], Attributes: lines[1:], Depth: len(a.open)})
	a.open = append(a.open, len(a.Spans)-1)
	return a.respond([]byte{})
}

// endSpan answers span.end.
func (a *attempt) endSpan(why string) int32 {
	last := len(a.open) - 1
	if last < 0 {
		return int32(abi.ENOENT)
	}
	s := &a.Spans[a.open[last]]
	s.Ended, s.Why = true, why
	a.open = a.open[:last]
	return a.respond([]byte{})
}
