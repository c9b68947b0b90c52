package sim

import (
	"slices"
	"time"
)

// Shrink drops entries and operations from a failing run as long as it still fails, greedily: large pieces first. It
// stops after limit, or when nothing more can go.
func Shrink(steps []Step, opts Options, limit time.Duration) ([]Step, *Failure) {
	end := time.Now().Add(limit)
	failure := Replay(steps, opts)
	if failure == nil {
		return steps, nil
	}
	steps = slices.Clone(steps[:failure.Step+1])
	// try keeps candidate if it fails.
	try := func(candidate []Step) bool {
		f := Replay(candidate, opts)
		if f != nil {
			steps, failure = candidate[:f.Step+1], f
		}
		return f != nil
	}
	for changed := true; changed && time.Now().Before(end); {
		changed = false
		for size := max(1, len(steps)/2); size >= 1 && time.Now().Before(end); size /= 2 {
			for at := len(steps); at > 0 && time.Now().Before(end); at -= size {
				at = min(at, len(steps))
				if try(slices.Delete(slices.Clone(steps), max(0, at-size), at)) {
					changed = true
				}
			}
		}
		for i := len(steps) - 1; i >= 0 && time.Now().Before(end); i-- {
			for _, smaller := range reductions(steps[min(i, len(steps)-1)]) {
				candidate := slices.Clone(steps)
				candidate[min(i, len(steps)-1)] = smaller
				if try(candidate) {
					changed = true
					break
				}
			}
		}
	}
	return steps, failure
}

// reductions returns simpler forms of a step.
func reductions(s Step) []Step {
	var out []Step
	for i := range s.Ops {
		n := s
		n.Ops = slices.Delete(slices.Clone(s.Ops), i, i+1)
		out = append(out, n)
	}
	if len(s.Freeze)+len(s.Thaw) > 0 {
		n := s
		n.Freeze, n.Thaw = nil, nil
		out = append(out, n)
	}
	for i, o := range s.Ops {
		if o.Process != 0 {
			n := s
			n.Ops = slices.Clone(s.Ops)
			n.Ops[i].Process, n.Ops[i].Seq, n.Ops[i].Lowest = 0, 0, 0
			out = append(out, n)
		}
	}
	return out
}
