package task_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/jobs"
)

// What scripts say about bulk jobs (SPEC Q3). A job's number is that of the event that its start makes. An ID stands for the task's number of creation.
//
//	job cancel|retry|resubmit|remove [ns=] [filter=JSON without spaces] [rate=N] [version=V] [keep=1] [delay=MS]
//	select NUMBER count=N [index=N] [blobs=DIGEST,…]     of the state before this entry, unless index says another
//	step NUMBER [from=N] [ns=] ID...|#N... · endjob NUMBER [code=C] [message=M]
//	jobs
//
// NUMBER is last for the job that was started last.

var (
	jobActions = map[string]jobs.Action{"cancel": jobs.Cancel, "retry": jobs.Retry, "resubmit": jobs.Resubmit, "remove": jobs.Remove}
	jobStates  = map[jobs.State]string{
		jobs.Selecting: "selecting", jobs.Acting: "acting", jobs.Done: "done", jobs.Cancelled: "cancelled", jobs.Failed: "failed",
	}
)

func (s *script) jobCommand(a *args) task.Command {
	ns := cmp.Or(a.named["ns"], task.DefaultNamespace) // read again by other verbs
	switch a.verb {
	case "job":
		delete(a.named, "ns")
		return task.StartJob{
			Namespace: ns, Action: uint64(jobActions[a.word(0)]), Spec: []byte(a.text("filter", "{}")), Rate: a.number("rate", 100),
			Version: a.text("version", ""), Keep: a.number("keep", 0) != 0, Delay: task.Millis(a.number("delay", 0)),
		}
	case "select":
		c := task.SelectJob{Number: s.jobNumber(a), Index: uint64(a.number("index", int64(s.h.Index))), Count: a.number("count", 0)}
		for _, d := range strings.FieldsFunc(a.text("blobs", ""), isComma) {
			c.Blobs = append(c.Blobs, digest(d))
		}
		return c
	case "step":
		delete(a.named, "ns")
		c := task.StepJob{Number: s.jobNumber(a), From: a.number("from", 0)}
		for _, w := range a.words[1:] {
			if raw, ok := strings.CutPrefix(w, "#"); ok {
				n, err := strconv.ParseUint(raw, 10, 64)
				if err != nil {
					a.err = err
				}
				c.Tasks = append(c.Tasks, n)
			} else if t := s.m.Task(task.Key{Namespace: ns, ID: w}); t != nil {
				c.Tasks = append(c.Tasks, t.CreatedRev)
			} else {
				a.err = fmt.Errorf("no task %s", w)
			}
		}
		return c
	case "endjob":
		return task.EndJob{Number: s.jobNumber(a), Code: a.text("code", ""), Message: a.text("message", "")}
	}
	return nil
}

func (s *script) jobNumber(a *args) uint64 {
	if all := task.Jobs(s.m); a.word(0) == "last" && len(all) > 0 {
		return all[len(all)-1].Number
	}
	return a.session(0)
}

// lookAtJobs runs the lines that only read.
func (s *script) lookAtJobs(a *args) bool {
	if a.verb != "jobs" {
		return false
	}
	for _, x := range task.Jobs(s.m) {
		fmt.Fprintln(&s.out, formatJob(x))
	}
	return true
}

func formatJob(x *task.Job) string {
	var f fields
	for name, is := range jobActions {
		if is == x.Action {
			f.add("action", name)
		}
	}
	f.add("by", x.By)
	f.add("version", x.Version)
	f.add("keep", x.Keep)
	f.add("delay", x.Delay)
	f.add("index", x.Index)
	f.add("created", x.CreatedAt)
	f.add("ended", x.EndedAt)
	f.add("selected", x.Selected)
	f.add("selected_at", x.SelectedAt)
	for _, d := range x.Blobs {
		f.add("blob", short(d))
	}
	f.add("position", x.Position)
	f.add("did", x.Counts.Done)
	f.add("was_changed", x.Counts.Changed)
	f.add("gone", x.Counts.Gone)
	f.add("refused", x.Counts.Refused)
	f.add("forbidden", x.Counts.Forbidden)
	f.add("code", x.Code)
	f.add("message", x.Message)
	return fmt.Sprintf("job %d: %s rev=%d %s rate=%d %s%s", x.Number, jobStates[x.State], x.Rev, x.Namespace, x.Rate, x.Spec, " "+f.b.String())
}

func (f *fields) addJob(x *task.Job) {
	if x != nil {
		f.add("job", fmt.Sprintf("%d/%d/%s", x.Number, x.Rev, jobStates[x.State]))
		f.add("position", x.Position)
	}
}
