package service

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// TestExternalBehaviorIsWhatIsParsed: the API documents the body of PUT /v1/behaviors/{name} by a type, and programs
// write the body with this type. It has the fields that the server reads, except those that need a module and are
// refused.
func TestExternalBehaviorIsWhatIsParsed(t *testing.T) {
	t.Parallel()
	moduleOnly := []string{"heartbeat_timeout", "on_trap", "on_exhausted", "limits.memory_bytes", "limits.fuel", "limits.log_bytes"}
	read := slices.DeleteFunc(jsonFields(reflect.TypeFor[manifest.External](), ""), func(f string) bool {
		return slices.Contains(moduleOnly, f) || strings.HasPrefix(f, "operation.")
	})
	documented := jsonFields(reflect.TypeFor[api.ExternalBehavior](), "")
	slices.Sort(read)
	slices.Sort(documented)
	if len(read) < 20 || !slices.Equal(documented, read) {
		t.Errorf("api.ExternalBehavior has\n%q,\nmanifest.External reads\n%q", documented, read)
	}
}

// jsonFields returns the names of a type's fields. A field of an inner object has its object's name and a point before
// it.
func jsonFields(t reflect.Type, prefix string) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, jsonFields(f.Type, prefix)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner := f.Type; inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct {
			names = append(names, jsonFields(inner.Elem(), prefix+name+".")...)
			continue
		}
		names = append(names, prefix+name)
	}
	return names
}
