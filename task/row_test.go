package task

import (
	"reflect"
	"testing"
)

// TestPagesFillWhatTheyGet: pages are as long as the memory that Go's allocator gives for them, or a tenth would be wasted.
func TestPagesFillWhatTheyGet(t *testing.T) {
	for page, want := range map[any]struct{ class, head uintptr }{
		[pageRows]row{}: {2304, 24}, cells{}: {1152, 8}, live{}: {576, 8}, orderPage{}: {1152, 16}, // what package table puts before them
	} {
		if got := reflect.TypeOf(page).Size() + want.head; got > want.class || got < want.class-8 {
			t.Errorf("%T: %d bytes of %d", page, got, want.class)
		}
	}
}
