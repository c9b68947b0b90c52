package task

import (
	"testing"
)

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
