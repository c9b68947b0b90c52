// Package guestspans checks what a guest says of spans of its own (SPEC U2), and passes it on to whoever wants it.
package guestspans

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taskrt/taskrt/abi"
)

// Span is a span that a guest begins. All of its texts are printable and within the bounds of package abi.
type Span struct {
	Name       string
	Attributes []Attribute `json:",omitempty"`
}

// Attribute says something about a span.
type Attribute struct{ Key, Value string }

// Spans notes the spans of a guest.
type Spans interface {
	// Begin begins a span inside of the one that was begun last and has not ended.
	Begin(s Span)
	// End ends the span that was begun last and has not ended. why says why it failed; "": it did not fail.
	End(why string)
}

var spanKey = regexp.MustCompile(`^[a-z0-9_.-]+$`)

// Parse reads the payload of abi.OpSpanBegin: the name, and a line KEY=VALUE for each attribute.
func Parse(payload []byte) (s Span, errno abi.Errno) {
	lines := strings.Split(string(payload), "\n")
	s.Name = lines[0]
	for _, line := range lines[1:] {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return s, abi.EINVAL
		}
		s.Attributes = append(s.Attributes, Attribute{key, value})
	}
	return s, s.Check()
}

// Check tells what is wrong with a span: abi.EINVAL or abi.E2BIG; 0: nothing.
func (s *Span) Check() abi.Errno {
	if s.Name == "" {
		return abi.EINVAL
	}
	if len(s.Attributes) > abi.MaxSpanAttributes {
		return abi.E2BIG
	}
	if errno := checkText(s.Name, abi.MaxSpanName); errno != 0 {
		return errno
	}
	for _, a := range s.Attributes {
		if len(a.Key) > abi.MaxSpanName {
			return abi.E2BIG
		}
		if !spanKey.MatchString(a.Key) || strings.HasPrefix(a.Key, "taskrt.") {
			return abi.EINVAL
		}
		if errno := checkText(a.Value, abi.MaxSpanText); errno != 0 {
			return errno
		}
	}
	return 0
}

func checkText(text string, most int) abi.Errno {
	switch {
	case len(text) > most:
		return abi.E2BIG
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return abi.EINVAL
	}
	return 0
}

// Open counts the spans of an attempt that are open.
type Open int

// Call answers abi.OpSpanBegin and abi.OpSpanEnd, the same whether to is nil or not: nobody wants the spans. hide takes out secrets.
func (o *Open) Call(op abi.Op, payload []byte, hide func([]byte) []byte, to Spans) abi.Errno {
	text := func(s string, most int) string {
		hidden := string(hide([]byte(s)))
		return strings.ToValidUTF8(hidden[:min(len(hidden), most)], "")
	}
	if op == abi.OpSpanEnd {
		return o.end(string(payload), text, to)
	}
	s, errno := Parse(payload)
	switch {
	case errno != 0:
		return errno
	case *o == abi.MaxOpenSpans:
		return abi.E2BIG
	}
	*o++
	if to != nil {
		s.Name = text(s.Name, abi.MaxSpanName)
		for i := range s.Attributes {
			s.Attributes[i].Value = text(s.Attributes[i].Value, abi.MaxSpanText)
		}
		to.Begin(s)
	}
	return 0
}

func (o *Open) end(why string, text func(string, int) string, to Spans) abi.Errno {
	if errno := checkText(why, abi.MaxSpanText); errno != 0 {
		return errno
	}
	if *o == 0 {
		return abi.ENOENT
	}
	*o--
	if to != nil {
		to.End(text(why, abi.MaxSpanText))
	}
	return 0
}
