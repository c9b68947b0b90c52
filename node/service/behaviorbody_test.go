package service

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// TestExternalBehaviorIsWhatIsParsed: the type by which the API documents PUT /v1/behaviors/{name}, and by which
// programs write its body, has the fields that are read; but for those that need a module and are refused.
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

// jsonFields are the names of a type's fields, those of objects in it with a point between.
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
