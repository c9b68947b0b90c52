package sim

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Shrink drops entries and operations from a failing run as long as the run still fails, greedily, large pieces first. It
// stops when nothing more can go, or after it has replayed budget entries in all. It does not stop after a time, so that it finds
// the same script on a slow machine.
func Shrink(steps []Step, opts Options, budget int) ([]Step, *Failure) {
	failure := Replay(steps, opts)
	if failure == nil {
		return steps, nil
	}
	steps = slices.Clone(steps[:failure.Step+1])
	// try keeps candidate if it fails.
	try := func(candidate []Step) bool {
		f := Replay(candidate, opts)
		if budget -= len(candidate); f != nil {
			steps, failure = candidate[:f.Step+1], f
		}
		return f != nil
	}
	for changed := true; changed && budget > 0; {
		changed = false
		for size := max(1, len(steps)/2); size >= 1 && budget > 0; size /= 2 {
			for at := len(steps); at > 0 && budget > 0; at -= size {
				at = min(at, len(steps))
				if try(slices.Delete(slices.Clone(steps), max(0, at-size), at)) {
					changed = true
				}
			}
		}
		for i := len(steps) - 1; i >= 0 && budget > 0; i-- {
			for _, candidate := range reductions(steps, min(i, len(steps)-1)) {
				if try(candidate) {
					changed = true
					break
				}
			}
		}
	}
	return steps, failure
}

// reductions returns the run with simpler forms of step i.
func reductions(steps []Step, i int) [][]Step {
	var out [][]Step
	with := func(change func(s *Step)) []Step {
		candidate := slices.Clone(steps)
		s := &candidate[i]
		s.Ops = slices.Clone(s.Ops)
		change(s)
		out = append(out, candidate)
		return candidate
	}
	for j, o := range steps[i].Ops {
		with(func(s *Step) { s.Ops = slices.Delete(s.Ops, j, j+1) })
		if o.Verb == "open" || o.Verb == "assign" || o.Verb == "job" {
			c := with(func(s *Step) { s.Ops = slices.Delete(s.Ops, j, j+1) })
			renumber(c[i].Ops[j:], o)
			for k := i + 1; k < len(c); k++ {
				c[k].Ops = slices.Clone(c[k].Ops)
				renumber(c[k].Ops, o)
			}
		}
	}
	if len(steps[i].Freeze)+len(steps[i].Thaw) > 0 {
		with(func(s *Step) { s.Freeze, s.Thaw = nil, nil })
	}
	for j, o := range steps[i].Ops {
		for k := range o.Parts {
			with(func(s *Step) { s.Ops[j].Parts = slices.Delete(slices.Clone(o.Parts), k, k+1) })
		}
		if o.Process != 0 {
			with(func(s *Step) { s.Ops[j].Process, s.Ops[j].Seq, s.Ops[j].Lowest, s.Ops[j].Body = 0, 0, 0, 0 })
		}
	}
	return out
}

// renumber makes later operations name the same sessions, attempts and jobs when the one of gone does not come to be.
func renumber(ops []Op, gone Op) {
	for i := range ops {
		o := &ops[i]
		switch {
		case gone.Verb == "open" && o.Worker == gone.Worker && o.Nth > 1:
			o.Nth--
		case gone.Verb == "job" && o.Job > 1:
			o.Job--
		case gone.Verb == "assign" && (o.ID == gone.ID && o.Of == "" || o.Of == gone.ID || ofRun(o.Verb) && gone.key() == task.MaintenanceKey()) && o.Attempt > 1:
			o.Attempt--
		}
	}
}

// ofRun reports whether an operation's attempt is an attempt of the run of maintenance.
func ofRun(verb string) bool {
	return slices.Contains([]string{"maintain", "record", "drop-blobs", "drop-tasks", "drop-operations", "trim", "purge", "end-purge"}, verb)
}
