package sim

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// jobCommand makes commands about bulk jobs.
func (s *symbols) jobCommand(o Op) task.Command {
	if o.Verb == "job" {
		c := task.StartJob{Namespace: o.key().Namespace, Action: o.Action, Rate: o.Size, Version: version(o.Version), Keep: o.Keep, Delay: o.Delay}
		if o.Params != nil {
			c.Spec = []byte(*o.Params)
		}
		return c
	}
	x := &task.Job{Number: never}
	if s.last != nil && o.Job >= 1 && o.Job <= len(s.jobs) {
		x.Number = s.jobs[o.Job-1] // of one that is forgotten, too
		if all := task.Jobs(s.last); slices.ContainsFunc(all, func(y *task.Job) bool { return y.Number == x.Number }) {
			x = all[slices.IndexFunc(all, func(y *task.Job) bool { return y.Number == x.Number })]
		}
	}
	switch o.Verb {
	case "select":
		c := task.SelectJob{Number: x.Number, Count: o.Size}
		if s.last != nil { // Age: of the last entry, of the job's start, of the one before it, of this entry
			c.Index = []uint64{s.last.Index(), x.Index, max(x.Index, 1) - 1, s.last.Index() + 1}[o.Age%4]
		}
		for _, name := range o.Blobs {
			c.Blobs = append(c.Blobs, digestOf(name))
		}
		return c
	case "step":
		c := task.StepJob{Number: x.Number, From: x.Position + o.Max}
		for _, p := range o.Parts {
			p.ID = s.real(p.Op)
			c.Tasks = append(c.Tasks, before(s.created[p.key()], p.Age))
		}
		return c
	}
	return task.EndJob{Number: x.Number, Code: o.Error, Message: o.Data}
}
