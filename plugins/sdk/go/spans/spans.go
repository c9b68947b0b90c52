// Package spans adds spans of the plugin's own to the trace of its attempt (SPEC U2).
package spans

import (
	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

// Span is a span of the attempt's trace. The zero Span does nothing.
type Span struct {
	c *sdk.Context
}

// Begin begins a span, which stands in the trace of the attempt inside the span that was begun last and has not ended. Attributes
// are keys and values in turn; a key is of [a-z0-9_.-]. Text that is too long is cut, what cannot be printed becomes a space, and of attributes the
// first eight count. It is cheap if nobody wants the trace. A host that knows no spans, or has too many open, shows none.
//
//	span := spans.Begin(c, "parse", "file", name)
//	defer span.End()
func Begin(c *sdk.Context, name string, attributes ...string) Span {
	if name = spanText(name, abi.MaxSpanName); name == "" {
		name = "span"
	}
	payload := []byte(name)
	for i := 0; i+1 < len(attributes) && i < 2*abi.MaxSpanAttributes; i += 2 {
		payload = append(append(append(payload, '\n'), attributes[i]...), '=')
		payload = append(payload, spanText(attributes[i+1], abi.MaxSpanText)...)
	}
	if _, err := c.Call(abi.OpSpanBegin, payload); err != nil {
		return Span{}
	}
	return Span{c}
}

// End ends the span. Spans end in the opposite order of their beginning. A second End does nothing.
func (s *Span) End() { s.end(nil) }

// Fail ends the span and says why what it is about failed; nil: it did not fail.
func (s *Span) Fail(err error) {
	if err == nil {
		s.end(nil)
		return
	}
	why := spanText(err.Error(), abi.MaxSpanText)
	if why == "" {
		why = "failed"
	}
	s.end([]byte(why))
}

func (s *Span) end(why []byte) {
	if s.c != nil {
		_, _ = s.c.Call(abi.OpSpanEnd, why) // a span says nothing of the outcome
		s.c = nil
	}
}

// spanText makes text that the host takes. Package strings would make every guest larger.
func spanText(text string, most int) string {
	to := make([]byte, 0, most)
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\ufffd' {
			r = ' '
		}
		encoded := string(r)
		if len(to)+len(encoded) > most {
			break
		}
		to = append(to, encoded...)
	}
	return string(to)
}
