package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// Encode returns v as JSON in the form that this API sends: <, > and & stay as they are.
func Encode(v any) []byte { return Append(nil, v) }

// Append appends v as Encode makes it. It writes the most frequent answers and requests without reflection (append_gen.go), byte for
// byte as encoding/json does. It leaves all others to encoding/json.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case *api.SubmitReply:
		return appendSubmitReply(b, v)
	case *api.SubmitResult:
		return appendResult(b, v)
	case *MinimalReply:
		return appendMinimalReply(b, v)
	case *MinimalResult:
		return appendMinimalResult(b, v)
	case TaskAnswer:
		return appendTaskAnswer(b, &v)
	case *api.Task:
		return appendTask(b, v)
	case *api.HeartbeatReply:
		return appendHeartbeatReply(b, v)
	case *api.FinishReply:
		return appendFinishReply(b, v)
	case *api.FinishResult:
		return appendFinishResult(b, v)
	case *MinimalFinishReply:
		return appendMinimalFinishReply(b, v)
	case *MinimalFinishResult:
		return appendMinimalFinishResult(b, v)
	case api.AcceptRequest:
		return appendAcceptRequest(b, &v)
	case api.FinishRequest:
		return appendFinishRequest(b, &v)
	case Reports:
		return appendReports(b, &v)
	}
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // a value of this package does not marshal: a bug of the Service
	}
	return append(b, bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})...)
}

func appendResult(b []byte, r *api.SubmitResult) []byte {
	b = append(b, '{')
	if r.SubmitReply != nil {
		b = appendSubmitReplyMembers(b, r.SubmitReply)
	}
	return appendError(b, r.Error, r.SubmitReply != nil)
}

func appendFinishResult(b []byte, r *api.FinishResult) []byte {
	b = append(b, '{')
	if r.FinishReply != nil {
		b = appendFinishReplyMembers(b, r.FinishReply)
	}
	return appendError(b, r.Error, r.FinishReply != nil)
}

// appendError appends the member error, if there is one, and the end of the object.
func appendError(b []byte, e *api.Error, comma bool) []byte {
	if e != nil && comma {
		b = append(b, ',')
	}
	if e != nil {
		b = Append(append(b, `"error":`...), e)
	}
	return append(b, '}')
}

func appendMinimalResult(b []byte, r *MinimalResult) []byte {
	b = append(b, '{')
	if r.MinimalReply != nil {
		b = appendMinimalReplyMembers(b, r.MinimalReply)
	}
	return appendError(b, r.Error, r.MinimalReply != nil)
}

func appendMinimalFinishResult(b []byte, r *MinimalFinishResult) []byte {
	b = append(b, '{')
	if r.MinimalFinishReply != nil {
		b = appendMinimalFinishReplyMembers(b, r.MinimalFinishReply)
	}
	return appendError(b, r.Error, r.MinimalFinishReply != nil)
}

// AppendRequest appends a submit that was checked, so its params are compact.
func AppendRequest(b []byte, r *api.SubmitRequest) []byte { return appendSubmitRequest(b, r) }

// appendObject appends an object, or null. members appends what stands between the braces.
func appendObject[T any](b []byte, x *T, members func([]byte, *T) []byte) []byte {
	if x == nil {
		return append(b, "null"...)
	}
	return append(members(append(b, '{'), x), '}')
}

// appendList appends a list, or null.
func appendList[T any](b []byte, xs []T, element func([]byte, *T) []byte) []byte {
	if xs == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range xs {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, &xs[i])
	}
	return append(b, ']')
}

// appendLabels appends an object of texts, in the order of their names.
func appendLabels(b []byte, m map[string]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	if len(m) > 0 {
		for i, name := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendString(b, m[name])
		}
	}
	return append(b, '}')
}

// appendText appends a member unless it is empty. name is all that stands before the value.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendTime appends a member unless it is nil.
func appendTime(b []byte, name string, t *api.Time) []byte {
	if t == nil {
		return b
	}
	b = append(append(b, name...), '"')
	return append(t.UTC().AppendFormat(b, api.TimeLayout), '"')
}

// appendBytes appends a member unless it is empty.
func appendBytes(b []byte, name string, raw []byte) []byte {
	if len(raw) == 0 {
		return b
	}
	b = append(append(b, name...), '"')
	return append(base64.StdEncoding.AppendEncode(b, raw), '"')
}

// appendRaw appends a member unless it is empty, without insignificant white space, which guests may have written.
func appendRaw(b []byte, name string, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return b
	}
	b = append(b, name...)
	if _, compact := scan.Valid(raw); compact {
		return append(b, raw...)
	}
	var buffer bytes.Buffer
	if err := json.Compact(&buffer, raw); err != nil {
		panic(err) // see Append
	}
	return append(b, buffer.Bytes()...)
}

// appendString appends a JSON string as encoding/json writes it without escaping HTML.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029': // these two once ended lines in JavaScript
			b = append(append(b, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}
