package sim

import (
	"bytes"
	"fmt"
	"reflect"
)

// prose names fields that are for people: the SPEC does not say what they contain.
var prose = map[string]bool{"Message": true, "Field": true}

// diff compares two values field by field and returns the first difference, "" if there is none. A nil and an empty
// slice are equal, fields that are not encoded (derived ones, `cbor:"-"`) and prose are skipped.
func diff(path string, a, b any) string {
	return diffValue(path, reflect.ValueOf(a), reflect.ValueOf(b))
}

func diffValue(path string, a, b reflect.Value) string {
	if a.IsValid() != b.IsValid() {
		return fmt.Sprintf("%s: %v, want %v", path, a, b)
	}
	if !a.IsValid() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return fmt.Sprintf("%s: %s, want %s", path, show(a), show(b))
			}
			return ""
		}
		return diffValue(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.Tag.Get("cbor") == "-" || prose[f.Name] {
				continue
			}
			if d := diffValue(path+"."+f.Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Type().Elem().Kind() == reflect.Uint8 {
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				return fmt.Sprintf("%s: %q, want %q", path, a.Bytes(), b.Bytes())
			}
			return ""
		}
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: length %d, want %d", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := diffValue(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Interface:
		return diffValue(path, a.Elem(), b.Elem())
	default:
		if !a.Equal(b) {
			return fmt.Sprintf("%s: %v, want %v", path, a, b)
		}
		return ""
	}
}

func show(v reflect.Value) string {
	if v.IsNil() {
		return "nil"
	}
	return fmt.Sprintf("%+v", v.Elem())
}
