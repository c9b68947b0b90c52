package host

import (
	"sync"
	"sync/atomic"

	"github.com/taskrt/taskrt/abi"
)

// Capabilities are the functions of the capabilities' import modules. In a guest each package imports its own functions, so a module
// imports no more than it uses. Natively the packages ask Current.
type Capabilities interface {
	Secret(name string, to []byte) int32
	Request(head, body []byte) int32
	PartLen(part int32) int32
	PartRead(part, off int32, p []byte) int32
	Submit(child []byte) int32
}

// A guest has one attempt, so nothing says which attempt asks for a secret. In native tests there may be several attempts at a time:
// where a capability is linked, they take turns.
var (
	linked  bool
	turn    sync.Mutex
	current atomic.Pointer[Capabilities]
)

// Link is called in init by every package that asks Current.
func Link() { linked = true }

// Enter begins an attempt that is granted c. The attempt lasts until leave is called.
func Enter(c Capabilities) (leave func()) {
	if !linked {
		return func() {}
	}
	turn.Lock()
	current.Store(&c)
	return func() {
		current.Store(nil)
		turn.Unlock()
	}
}

// Current returns the capabilities of the attempt that runs. If none runs, it returns capabilities that grant nothing.
func Current() Capabilities {
	if c := current.Load(); c != nil {
		return *c
	}
	return nothing{}
}

// nothing answers as a host does in start and describe.
type nothing struct{}

func (nothing) Secret(string, []byte) int32         { return int32(abi.EDENIED) }
func (nothing) Request(_, _ []byte) int32           { return int32(abi.EDENIED) }
func (nothing) PartLen(int32) int32                 { return int32(abi.EDENIED) }
func (nothing) PartRead(_, _ int32, _ []byte) int32 { return int32(abi.EDENIED) }
func (nothing) Submit([]byte) int32                 { return int32(abi.EDENIED) }
