package show

import (
	"testing"

	"github.com/taskrt/taskrt/api"
)

func TestOperationBar(t *testing.T) {
	for want, o := range map[string]api.Operation{
		"[....................] 0 %  0 of 4 done": {Status: "RUNNING", Partitions: 4, Counts: api.OperationCounts{Waiting: 4}},
		"[##########..........] 50 %  2 of 4 done, 1 running, 1 retrying, 1 failed": {
			Status: "RUNNING", Partitions: 4, Counts: api.OperationCounts{Running: 1, Retrying: 1, Success: 1, Failure: 1},
		},
		"[#####...............] 25 %  1 of 4 done, 1 failed  RUNNING, being stopped": {
			Status: "RUNNING", Stopping: true, Partitions: 4, Counts: api.OperationCounts{Waiting: 3, Failure: 1},
		},
		"[####################] 100 %  100000 of 100000 done  COMPLETING": {
			Status: "COMPLETING", Partitions: 100_000, Counts: api.OperationCounts{Success: 100_000},
		},
	} {
		if got := OperationBar(&o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
