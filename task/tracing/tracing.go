// Package tracing is what the state machine knows of distributed traces (SPEC U2). A task carries a text, its trace. The package computes the
// spans of the task from this text.
package tracing

import (
	"strings"

	"github.com/taskrt/taskrt/task/hash"
)

// A traceparent of W3C Trace Context, version 00: 00-TRACE-SPAN-FLAGS in lower-case hexadecimal digits.
const (
	size    = 55
	atTrace = 3
	atSpan  = 36
	atFlags = 53
	digits  = "0123456789abcdef"
)

// Valid reports whether s is a text that records keep: a traceparent of version 00 in one form, and perhaps a tracestate behind it (Join).
func Valid(s string) bool {
	if len(s) > size && (s[size] != separator || len(s) == size+1 || len(s) > size+1+maxState || ParseState(s[size+1:]) != s[size+1:]) {
		return false
	}
	return valid(Parent(s))
}

// valid reports whether s is a traceparent of version 00.
func valid(s string) bool {
	if len(s) != size || s[:atTrace] != "00-" || s[atSpan-1] != '-' || s[atFlags-1] != '-' {
		return false
	}
	for _, part := range [...]string{s[atTrace : atSpan-1], s[atSpan : atFlags-1], s[atFlags:]} {
		if strings.Trim(part, digits) != "" {
			return false
		}
	}
	return strings.Trim(s[atTrace:atSpan-1], "0") != "" && strings.Trim(s[atSpan:atFlags-1], "0") != ""
}

// Parse reads a header traceparent of any version. As W3C asks, it takes from a later version what version 00 knows. It returns "" if there is no
// traceparent. It keeps the flags that it knows, sampled and random.
func Parse(header string) string {
	s := header
	if len(s) < size || s[:2] == "ff" || strings.Trim(s[:2], digits) != "" {
		return ""
	}
	if len(s) > size && (s[:2] == "00" || s[size] != '-') {
		return ""
	}
	s = "00" + s[2:size]
	if !valid(s) {
		return ""
	}
	if flags := "0" + string(digits[strings.IndexByte(digits, s[size-1])&3]); s[atFlags:] != flags {
		s = s[:atFlags] + flags
	}
	return s
}

// ID returns the trace ID of a traceparent, 32 digits; "" of "".
func ID(s string) string {
	if s == "" {
		return ""
	}
	return s[atTrace : atSpan-1]
}

// SpanID returns the ID of the span that a traceparent names, 16 digits; "" of "".
func SpanID(s string) string {
	if s == "" {
		return ""
	}
	return s[atSpan : atFlags-1]
}

// Sampled reports whether the system that began the trace wants its spans.
func Sampled(s string) bool {
	return s != "" && strings.IndexByte(digits, s[size-1])&1 != 0
}

// hashedSpan is the kind of the hash that a span's ID is. It and Span are part of the replicated contract, because children have such an ID in their records.
const hashedSpan = 1

// Span returns the ID of the span of an attempt, 16 digits. Everybody who knows the task knows it: the worker that reports the span, the worker
// that links the next attempt to it, and the state machine, which gives it to children.
func Span(s, namespace, id string, attempt int64) string {
	h := hash.New(hashedSpan)
	h.Str(ID(s))
	h.Str(namespace)
	h.Str(id)
	h.Int(attempt)
	sum := h.Sum()
	if sum == 0 {
		sum = 1 // no span has the ID 0
	}
	var b [16]byte
	for i := range b {
		b[i] = digits[sum>>(60-4*i)&15]
	}
	return string(b[:])
}

// Attempt returns the trace of what an attempt begins, with the same tracestate; "" of "".
func Attempt(s, namespace, id string, attempt int64) string {
	if s == "" {
		return ""
	}
	return s[:atSpan] + Span(s, namespace, id, attempt) + s[atFlags-1:]
}
