package sim

import (
	"bytes"
	"fmt"
	"reflect"
)

// diff compares two values field by field and returns the first difference, or "" if there is none. A nil slice equals an empty
// slice. It skips fields that are not encoded (derived fields, `cbor:"-"`) and fields that are for people:
// the SPEC does not say what a Message contains.
func diff(path string, got, want any) string {
	if d := diffValue(reflect.ValueOf(got), reflect.ValueOf(want)); d != "" {
		return path + d
	}
	return ""
}

func skipped(f reflect.StructField) bool {
	return f.Tag == `cbor:"-"` || !f.IsExported() || f.Name == "Message" || f.Name == "Field"
}

func diffValue(a, b reflect.Value) string {
	if a.IsValid() != b.IsValid() {
		return fmt.Sprintf(": %v, want %v", a, b)
	}
	if !a.IsValid() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.UnsafePointer() == b.UnsafePointer() {
			return ""
		}
		if a.IsNil() || b.IsNil() {
			return fmt.Sprintf(": %s, want %s", show(a), show(b))
		}
		return diffValue(a.Elem(), b.Elem())
	case reflect.Struct:
		t := a.Type()
		for i := range a.NumField() {
			if f := t.Field(i); !skipped(f) {
				if d := diffValue(a.Field(i), b.Field(i)); d != "" {
					return "." + f.Name + d
				}
			}
		}
		return ""
	case reflect.Slice:
		return diffSlice(a, b)
	case reflect.Interface:
		return diffValue(a.Elem(), b.Elem())
	default:
		if !a.Equal(b) {
			return fmt.Sprintf(": %v, want %v", a, b)
		}
		return ""
	}
}

func diffSlice(a, b reflect.Value) string {
	if a.Type().Elem().Kind() == reflect.Uint8 {
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			return fmt.Sprintf(": %q, want %q", a.Bytes(), b.Bytes())
		}
		return ""
	}
	if a.Len() != b.Len() {
		return fmt.Sprintf(": length %d, want %d", a.Len(), b.Len())
	}
	for i := range a.Len() {
		if d := diffValue(a.Index(i), b.Index(i)); d != "" {
			return fmt.Sprintf("[%d]%s", i, d)
		}
	}
	return ""
}

func show(v reflect.Value) string {
	if v.IsNil() {
		return "nil"
	}
	return fmt.Sprintf("%+v", v.Elem())
}
