package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/jsontext"
)

// Decoder decodes bodies more strictly than encoding/json. It also refuses names in another case, names given twice, invalid
// UTF-8, lone surrogates, more than one value, and too deep nesting. The error names the field. It takes every whole number for
// an integer, also 1000.0 and 1e3. Inside a field of type json.RawMessage, names given twice and lone surrogates pass. They
// stay as they are, and the behavior decides whether they matter (SPEC I2).
type Decoder struct {
	Ignore bool // ignores unknown names; without it they are refused (SPEC H2)
	Parts  int  // bounds a list of objects or integers in a body, before the list takes memory: 8 MiB of `{},` would become much more
}

// Strict decodes the bodies of all routes except the TaskStore API.
var Strict = Decoder{Parts: api.MaxParts}

// TaskStore decodes the bodies of the TaskStore API. Existing clients send fields of answers with the records that they add,
// and null for an empty list.
var TaskStore = Decoder{Ignore: true, Parts: api.MaxStoreParts}

// Decode decodes one JSON object into the struct that dst points to.
func (d Decoder) Decode(body []byte, dst any) *api.Error {
	if err := api.CheckJSON(body); err != nil {
		return err
	}
	return d.object(body, dst, "")
}

// object decodes the object in b, which is valid JSON, into the struct at dst. path names the object in errors.
func (d Decoder) object(b []byte, dst any, path string) *api.Error {
	v := reflect.ValueOf(dst).Elem()
	fields := fieldsOf(v.Type())
	seen := make([]bool, v.NumField())
	return eachMember(b, path, func(name string, value []byte) *api.Error {
		at := within(path, name)
		i, known := fields[name]
		if !known {
			return d.unknown(fields, name, at)
		}
		if seen[i] {
			return api.FieldError(api.CodeInvalidJSON, at, "the field is given twice")
		}
		seen[i] = true
		return d.field(value, v.Field(i), at)
	})
}

// unknown returns the error for a name that is not the name of a field, or nil if such names are ignored. A name that differs
// from a field's only by case is always an error.
func (d Decoder) unknown(fields map[string]int, name, at string) *api.Error {
	for field := range fields {
		if strings.EqualFold(field, name) {
			return api.FieldError(api.CodeUnknownField, at, "there is no such field; it is written %s", field)
		}
	}
	if d.Ignore {
		return nil
	}
	return api.FieldError(api.CodeUnknownField, at, "there is no such field")
}

// field decodes the value of one field. It decodes objects, and lists of objects, as strictly as the whole body.
func (d Decoder) field(value []byte, field reflect.Value, at string) *api.Error {
	if value[0] == '[' && isPart(field.Type(), reflect.Slice) {
		return d.list(value, field, at)
	}
	if value[0] == '{' && isPart(field.Type(), reflect.Pointer) {
		field.Set(reflect.New(field.Type().Elem()))
		return d.object(value, field.Interface(), at)
	}
	switch v := field.Addr().Interface().(type) { // most of a body is of these types, which need no further look
	case *json.RawMessage:
		*v = bytes.Clone(value)
		return nil
	case *string:
		if s, plain := plainString(value); plain {
			*v = s
			return nil
		}
	}
	if jsontext.LoneSurrogate(value) {
		return api.FieldError(api.CodeInvalidJSON, at, "has a lone surrogate: half of a character, which no text can hold")
	}
	if field.Kind() == reflect.Slice && value[0] == '[' && isInteger(field.Type().Elem().Kind()) {
		if _, err := d.count(value, at); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(integers(value, field.Type()), field.Addr().Interface()); err != nil {
		return api.FieldError(api.CodeInvalidField, at, "%s", describe(err))
	}
	if field.Kind() == reflect.Map && !field.IsNil() {
		return refuseTwice(value, at)
	}
	return nil
}

// integers returns valid JSON in which every integer that t expects is written as encoding/json reads one.
func integers(value []byte, t reflect.Type) []byte {
	if !bytes.ContainsAny(value, ".eE") {
		return value
	}
	switch t.Kind() {
	case reflect.Pointer:
		return integers(value, t.Elem())
	case reflect.Slice:
		if value[0] != '[' || !isInteger(t.Elem().Kind()) {
			return value
		}
		list := []byte{'['}
		eachElement(value, func(_ int, element []byte) bool {
			list = append(append(list, integers(element, t.Elem())...), ',')
			return true
		})
		list[len(list)-1] = ']' // the list is not empty: it has a number with a point or an e
		return list
	}
	if c := value[0]; isInteger(t.Kind()) && (c == '-' || '0' <= c && c <= '9') {
		if whole, ok := jsontext.Integer(string(value)); ok {
			return []byte(whole)
		}
	}
	return value
}

// isInteger reports whether values of the kind are written as integers. Bytes are not.
func isInteger(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Uint64 && k != reflect.Uint8
}

// count bounds a list, and returns how many elements it has.
func (d Decoder) count(b []byte, at string) (int, *api.Error) {
	n := 0
	eachElement(b, func(i int, _ []byte) bool { n = i + 1; return n <= d.Parts })
	if n > d.Parts {
		return 0, api.LimitError(at, int64(d.Parts), "more than %d", d.Parts)
	}
	return n, nil
}

// list decodes a list of objects.
func (d Decoder) list(b []byte, list reflect.Value, at string) (bad *api.Error) {
	n, err := d.count(b, at)
	if err != nil {
		return err
	}
	list.Set(reflect.MakeSlice(list.Type(), n, n))
	eachElement(b, func(i int, value []byte) bool {
		bad = d.object(value, list.Index(i).Addr().Interface(), fmt.Sprintf("%s[%d]", at, i))
		return bad == nil
	})
	return bad
}

// isPart reports whether t is a list of structs, or a pointer to a struct, as kind says, and the struct is decoded field by
// field.
func isPart(t reflect.Type, kind reflect.Kind) bool {
	if t.Kind() != kind || t.Elem().Kind() != reflect.Struct {
		return false
	}
	_, itself := reflect.New(t.Elem()).Interface().(json.Unmarshaler)
	return !itself
}

// refuseTwice refuses an object in which a name is given twice: a map would silently keep the last value.
func refuseTwice(b []byte, path string) *api.Error {
	seen := map[string]bool{}
	return eachMember(b, path, func(name string, _ []byte) *api.Error {
		if seen[name] {
			return api.FieldError(api.CodeInvalidJSON, within(path, name), "the field is given twice")
		}
		seen[name] = true
		return nil
	})
}

// describe says what is wrong with a value, in words of JSON, not of Go.
func describe(err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := wrong.Type.String()
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint64:
		want = "an integer"
	case reflect.Map, reflect.Struct:
		want = "an object"
	case reflect.Slice:
		want = "a list"
	}
	return fmt.Sprintf("must be %s, not %s", want, wrong.Value)
}

// eachMember calls f with every name and raw value of the object in b, in order. b is valid JSON.
func eachMember(b []byte, path string, f func(name string, value []byte) *api.Error) *api.Error {
	b = bytes.TrimSpace(b)
	if b[0] != '{' {
		if path == "" {
			return api.NewError(api.CodeInvalidJSON, "the body must be an object")
		}
		return api.FieldError(api.CodeInvalidField, path, "must be an object")
	}
	for i := skipSpace(b, 1); b[i] != '}'; {
		end := valueEnd(b, i)
		name, plain := plainString(b[i:end])
		if !plain {
			if err := json.Unmarshal(b[i:end], &name); err != nil {
				return api.FieldError(api.CodeInvalidJSON, path, "%v", err)
			}
		}
		i = skipSpace(b, end) // at ':'
		i = skipSpace(b, i+1) // at the value
		end = valueEnd(b, i)
		if err := f(name, b[i:end]); err != nil {
			return err
		}
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return nil
}

// eachElement calls f with every raw value of the list in b, in order, until f returns false. b is valid JSON.
func eachElement(b []byte, f func(i int, value []byte) bool) {
	for i, n := skipSpace(b, 1), 0; b[i] != ']'; n++ {
		end := valueEnd(b, i)
		if !f(n, b[i:end]) {
			return
		}
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns where the value that starts at i ends. b is valid JSON, so brackets match and strings are closed.
func valueEnd(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // the list or object that holds this number or word ends here
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// plainString returns the string that value, valid JSON, is. plain is false if value is not a string, or has escapes.
func plainString(value []byte) (s string, plain bool) {
	if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
}

var fieldsOfTypes sync.Map // reflect.Type to what fieldsOf returns

// fieldsOf returns the index of each field by its JSON name.
func fieldsOf(t reflect.Type) map[string]int {
	if fields, ok := fieldsOfTypes.Load(t); ok {
		return fields.(map[string]int)
	}
	fields := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = i
		}
	}
	fieldsOfTypes.Store(t, fields)
	return fields
}

// within returns the name of a field inside another field.
func within(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
