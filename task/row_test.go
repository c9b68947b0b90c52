package task

import (
	"reflect"
	"testing"
)

// TestPagesFillWhatTheyGet: pages are as long as the memory that Go's allocator gives for them, or a tenth would be wasted.
func TestPagesFillWhatTheyGet(t *testing.T) {
	for page, class := range map[any]uintptr{rowPage{}: 2304, cells{}: 1152, page{}: 1152, lineChunk{}: 576} {
		if got := reflect.TypeOf(page).Size(); got > class || got < class-8 {
			t.Errorf("%T: %d bytes of %d", page, got, class)
		}
	}
}
