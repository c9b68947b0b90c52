// Package lean leaves members out of JSON objects: a list shows of each entry the fields that were asked for (SPEC Q1).
package lean

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/api"
)

// Selection is the members of an object that are shown. A nil Selection shows all.
type Selection []string

// Fields makes a Selection of the names of fields of a struct, as they travel. The error is an *api.Error: there is no such field.
func Fields(names []string, of any) (Selection, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	for _, n := range names {
		if n == "" || n == "-" || !known[n] {
			return nil, api.FieldError(api.CodeInvalidField, "fields", "there is no field %q", n)
		}
	}
	return slices.Clone(names), nil
}

// Of returns an object with the members of s that it has, in the order of s.
func (s Selection) Of(object []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		panic(err) // it was just written
	}
	b := []byte{'{'}
	for _, name := range s {
		value, has := members[name]
		if !has {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), name...), `":`...), value...)
	}
	return append(b, '}')
}
