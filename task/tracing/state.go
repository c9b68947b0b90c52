package tracing

import "strings"

// Bounds of a tracestate of W3C Trace Context. Every system must pass on so much, and records keep no more.
const (
	maxState   = 512 // bytes
	maxMembers = 32
	longMember = 128 // bytes: longer members go first if there is not enough room
	maxKey     = 256
	maxTenant  = 241
	maxSystem  = 14
	maxValue   = 256
)

// separator stands between the traceparent and the tracestate that a record keeps in one text.
const separator = ';'

// Join returns the text that a record keeps of a trace: a traceparent, and behind it the tracestate of header if it is valid. A state without a
// parent is dropped.
func Join(traceparent, header string) string {
	if state := ParseState(header); traceparent != "" && state != "" {
		return traceparent + string(separator) + state
	}
	return traceparent
}

// Parent returns the traceparent of the text that a record keeps.
func Parent(s string) string { return s[:min(len(s), size)] }

// State returns the tracestate of the text that a record keeps; "": it has none.
func State(s string) string {
	if len(s) <= size {
		return ""
	}
	return s[size+1:]
}

// ParseState reads a header tracestate, or several with commas between them. It returns the one form in which records keep it, or "" if it is not
// valid. If it is too long, members are left out in the order that W3C asks for: long ones first, then from the end.
func ParseState(header string) string {
	var members []string
	for m := range strings.SplitSeq(header, ",") {
		m = strings.Trim(m, " \t")
		if m == "" {
			continue
		}
		if len(members) == maxMembers || !member(m) || twice(members, m) {
			return ""
		}
		members = append(members, m)
	}
	return strings.Join(shorten(members), ",")
}

func shorten(members []string) []string {
	n := -1
	for _, m := range members {
		n += len(m) + 1
	}
	for n > maxState {
		last := len(members) - 1
		for i := last; i >= 0; i-- {
			if len(members[i]) > longMember {
				last = i
				break
			}
		}
		n -= len(members[last]) + 1
		members = append(members[:last], members[last+1:]...)
	}
	return members
}

// twice reports whether another member has the same key as m.
func twice(members []string, m string) bool {
	key := m[:strings.IndexByte(m, '=')+1]
	for _, other := range members {
		if strings.HasPrefix(other, key) {
			return true
		}
	}
	return false
}

// member reports whether m is KEY=VALUE, where KEY may be TENANT@SYSTEM.
func member(m string) bool {
	key, value, ok := strings.Cut(m, "=")
	if !ok || value == "" || len(value) > maxValue || len(key) > maxKey {
		return false
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == ',' || c == '=' {
			return false
		}
	}
	tenant, system, two := strings.Cut(key, "@")
	if !two {
		return word(key) && !digit(key[0])
	}
	return word(tenant) && len(tenant) <= maxTenant && word(system) && len(system) <= maxSystem && !digit(system[0])
}

// word reports whether s is a part of a key, of which the first character is a letter or a digit.
func word(s string) bool {
	if s == "" || strings.IndexByte("_-*/", s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !digit(c) && (c < 'a' || c > 'z') && strings.IndexByte("_-*/", c) < 0 {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
