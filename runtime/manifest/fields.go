package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/jsontext"
	"github.com/taskrt/taskrt/runtime/upload"
)

func badManifest(field, format string, args ...any) *upload.Error {
	return upload.Errorf(upload.BadManifest, field, format, args...)
}

// fields reads the members of one JSON object. The first error sticks.
type fields struct {
	path string
	left map[string]any // not read yet
	err  *error         // shared by all fields of a manifest
}

func (f *fields) fail(field, format string, args ...any) {
	if *f.err == nil {
		*f.err = badManifest(under(f.path, field), format, args...)
	}
}

func objectOf(v any, path string, err *error) *fields {
	f := &fields{path: path, err: err}
	m, ok := v.(map[string]any)
	if !ok && *err == nil {
		*err = badManifest(path, "must be an object")
	}
	f.left = maps.Clone(m)
	return f
}

func (f *fields) take(name string) (any, bool) {
	v, ok := f.left[name]
	delete(f.left, name)
	return v, ok
}

// laterFields are fields of SPEC B1 that this version does not carry out. Accepting them would be a lie.
var laterFields = [...]string{
	"isolation",
}

// end refuses the fields that nobody has read.
func (f *fields) end() {
	for _, name := range slices.Sorted(maps.Keys(f.left)) {
		if slices.Contains(laterFields[:], name) {
			f.fail(name, "is not supported by this version of taskrt")
		}
		f.fail(name, "unknown field %q", name)
	}
}

func (f *fields) object(name string) (*fields, bool) {
	v, ok := f.take(name)
	if !ok {
		return nil, false
	}
	return objectOf(v, under(f.path, name), f.err), true
}

func (f *fields) list(name string, limit int) []any {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	l, ok := v.([]any)
	switch {
	case !ok:
		f.fail(name, "must be a list")
	case len(l) > limit:
		f.fail(name, "has %d elements, more than %d", len(l), limit)
	}
	return l
}

func (f *fields) strings(name string, limit int) []string {
	var out []string
	for i, v := range f.list(name, limit) {
		s, ok := v.(string)
		if !ok {
			f.fail(fmt.Sprintf("%s[%d]", name, i), "must be a string")
		}
		out = append(out, s)
	}
	return out
}

func (f *fields) string(name string) (string, bool) {
	v, ok := f.take(name)
	if !ok {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		f.fail(name, "must be a string")
	}
	return s, ok
}

// oneOf reads a string that must be one of some words.
func (f *fields) oneOf(name string, words ...string) string {
	s, ok := f.string(name)
	if ok && !slices.Contains(words, s) {
		f.fail(name, "must be one of %s, not %q", strings.Join(words, ", "), s)
	}
	return s
}

func (f *fields) number(name string, low, high int64) *int64 {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	number, _ := v.(json.Number)
	whole, _ := jsontext.Integer(string(number)) // 1e3 is one, too
	n, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil:
		f.fail(name, "must be a whole number")
	case n < low:
		f.fail(name, "is %d, less than %d", n, low)
	case n > high:
		f.fail(name, "is %d, more than %d", n, high)
		f.limit(high)
	}
	return &n
}

// limit names the limit that the latest error is about.
func (f *fields) limit(n int64) {
	if bad, ok := (*f.err).(*upload.Error); ok && bad.Limit == 0 { //nolint:errorlint // made by fail, never wrapped
		bad.Limit = n
	}
}

func (f *fields) duration(name string, low, high time.Duration) *Duration {
	s, ok := f.string(name)
	if !ok {
		return nil
	}
	return f.durationIn(name, s, low, high)
}

// keep reads a duration or "never".
func (f *fields) keep(name string) *Keep {
	s, ok := f.string(name)
	switch {
	case !ok:
		return nil
	case s == keepNever:
		return new(Forever)
	}
	d := f.durationIn(name, s, 0, 10*maxInterval)
	if *d == 0 { // it would read as a field that is not given
		f.fail(name, "0s keeps nothing: write a longer duration, %q to keep for ever, or leave it out for what the namespace says", keepNever)
	}
	return (*Keep)(d)
}

func (f *fields) durationIn(name, s string, low, high time.Duration) *Duration {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		f.fail(name, "must be a duration like \"1m30s\", not %q", s)
	case d < low:
		f.fail(name, "is %v, less than %v", d, low)
	case d > high:
		f.fail(name, "is %v, more than %v", d, high)
		f.limit(high.Milliseconds())
	case d%time.Millisecond != 0:
		f.fail(name, "must be whole milliseconds, not %v", d)
	}
	return new(Duration(d))
}

// schema reads a JSON Schema, an object or a bool, and returns its canonical text: no space, keys sorted, numbers as
// they were.
func (f *fields) schema(name string, limit int) json.RawMessage {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	text, err := compact(v)
	switch {
	case err != nil:
		f.fail(name, "%v", err)
	case len(text) > limit:
		f.fail(name, "takes %d bytes, more than %d", len(text), limit)
		f.limit(int64(limit))
	default:
		if err := checkSchema(text); err != nil {
			f.fail(name, "is no JSON Schema (2020-12): %v", err)
		}
	}
	return text
}
