package stream

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// BenchmarkAssign measures an assignment's way there and back. A frame has 100 assignments of one behavior, with 256
// bytes of params.
func BenchmarkAssign(b *testing.B) {
	as := make([]Assignment, 100)
	for i := range as {
		as[i] = Assignment{
			Task: &task.Task{
				Namespace: "default", ID: fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i), Behavior: "echo", Version: "v1", Status: task.Running,
				Params: task.Payload{Encoding: task.JSON, Data: make([]byte, 256)}, Attempt: 1, Rev: 7, CreatedRev: 6, Priority: 4,
				Lease: &task.Lease{Token: uint64(i), Session: 3, Seq: uint64(i), Worker: "n1", Node: "n1"},
			},
			Policy: new(task.DefaultPolicy()), Module: Module{Digest: fmt.Sprintf("%064d", 1), Size: 300},
		}
	}
	cd, err := newCodec()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		enc, err := cd.append(nil, &Frame{Assign: as}, MaxFrame)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cd.decode(enc[HeaderSize:]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(as)), "ns/assignment")
}
