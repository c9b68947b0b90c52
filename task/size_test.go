package task

import (
	"testing"
	"unsafe"
)

// TestTaskFitsItsClass: a Task is a value that commands and reads pass around by the thousand, and the heap has room
// for 512 bytes or for 576.
func TestTaskFitsItsClass(t *testing.T) {
	if n := unsafe.Sizeof(Task{}); n > 512 {
		t.Errorf("a Task takes %d bytes", n)
	}
}

// TestAdmitAllocatesNothing: most payloads name no blob, and each submit and finish admits one.
func TestAdmitAllocatesNothing(t *testing.T) {
	m := NewMachine()
	p := &Payload{Encoding: JSON, Data: []byte(`{"n":1}`)}
	if n := testing.AllocsPerRun(10, func() {
		if refusal, ok := m.admit("params", p); !ok {
			t.Error(refusal)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
