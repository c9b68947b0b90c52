package lead

import (
	"net"
	"testing"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// certified is a connection whose other end is known.
type certified struct {
	net.Conn

	who mux.Principal
}

func (c certified) Principal() mux.Principal { return c.who }

// TestStreamsAreProven: a worker may open streams for itself alone, a node for its own workers alone (SPEC A2).
func TestStreamsAreProven(t *testing.T) {
	hello := func(worker, node string) stream.Frame {
		return stream.Frame{Hello: &stream.Hello{Worker: worker, Node: node}}
	}
	crash := func(worker string) stream.Frame { return stream.Frame{Crash: &task.CrashSession{Worker: worker}} }
	n1, w1 := mux.Principal{Role: mux.Node, ID: "n1"}, mux.Principal{Role: mux.Worker, ID: "w1"}
	for _, c := range []struct {
		who   mux.Principal
		frame stream.Frame
		may   bool
	}{
		{n1, hello("n1", "n1"), true}, {n1, hello("n1/system", "n1"), true}, {n1, hello("n2", "n2"), false}, {n1, hello("n2", "n1"), false},
		{n1, hello("n1", ""), false}, {w1, hello("w1", ""), true}, {w1, hello("w1/alone", ""), true}, {w1, hello("w2", ""), false},
		{w1, hello("w1", "w1"), false}, {w1, hello("n1", "n1"), false}, {w1, hello("w10", ""), false},
		{n1, crash("n1"), true}, {n1, crash("w1"), false}, {w1, crash("w1"), true}, {w1, crash("n1"), false},
	} {
		if got := mayWork(certified{who: c.who}, &c.frame); got != c.may {
			t.Errorf("%v says %+v %+v: %v", c.who, c.frame.Hello, c.frame.Crash, got)
		}
	}
	open, _ := net.Pipe()
	f := hello("anybody", "n1")
	if !mayWork(open, &f) {
		t.Error("without a guard everybody may")
	}
}
