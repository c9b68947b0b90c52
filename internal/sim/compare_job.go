package sim

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// compareJobs compares the bulk jobs, and what is told of them (SPEC Q3).
func (r *Run) compareJobs(events []task.Event) error {
	real := task.Jobs(r.replicas[0].m)
	if len(real) != len(r.model.Jobs) {
		return fmt.Errorf("%d jobs, want %d", len(real), len(r.model.Jobs))
	}
	told := map[uint64]*task.Job{}
	for _, e := range events {
		if e.Kind == task.JobChanged {
			told[e.Job.Number] = e.Job
		}
	}
	for i, x := range real {
		want := r.model.Jobs[i]
		if want.Rev == 0 {
			want.Rev = r.numbers.rev(x.Rev, x.Number)
		}
		if d := diff("", x, want); d != "" || r.numbers.refused != "" {
			return fmt.Errorf("job %d: %s %s", x.Number, d, r.numbers.refused)
		}
		if want.Message != "" && x.Message != want.Message {
			return fmt.Errorf("job %d: message %q, want %q", x.Number, x.Message, want.Message)
		}
		if e := told[x.Number]; (e != nil) != (r.jobs[x.Number] != x.Rev) || e != nil && diff("", e, x) != "" {
			return fmt.Errorf("job %d of rev %d, after %d: told %+v", x.Number, x.Rev, r.jobs[x.Number], e)
		}
	}
	clear(r.jobs)
	for _, x := range real {
		r.jobs[x.Number] = x.Rev
	}
	return nil
}
