package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// TestDescribeTaskFuel: the line of an attempt says what fuel and memory the attempt used (SPEC U1), where that is known.
func TestDescribeTaskFuel(t *testing.T) {
	var b bytes.Buffer
	err := terminal.New(&b).Table(func(w *terminal.Table) {
		Task(w, &api.Task{History: []api.Attempt{
			{Attempt: 1, Outcome: "LOST", Worker: "n1"}, {Attempt: 2, Outcome: "SUCCESS", Worker: "n2", FuelUsed: 1 << 53, PeakMemoryBytes: 17 << 16},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	lost, done := lines[len(lines)-2], lines[len(lines)-1]
	if !strings.Contains(lost, "LOST by n1") || strings.Contains(lost, "fuel") || strings.Contains(lost, "memory") || !strings.HasSuffix(done, ", fuel 9007199254740992, peak memory 1088 KiB") {
		t.Errorf("%s\n%s", lost, done)
	}
}
