package policy

import (
	"slices"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
)

// operationPolicy turns the operation{} of a manifest into what the log carries (SPEC O2).
func operationPolicy(s *manifest.OperationSettings) *task.OperationPolicy {
	if s == nil {
		return nil
	}
	p := &task.OperationPolicy{
		Incompatible: slices.Clone(s.IncompatibleWith), RunAll: s.RunAll, Restart: s.Restart, Complete: s.Complete, Cleanup: s.Cleanup,
	}
	switch s.Concurrency {
	case "one_per_target":
		p.Concurrency = task.OnePerTarget
	case "one_per_object":
		p.Concurrency = task.OnePerObject
	}
	return p
}

// operationEntry is the way back, with every default filled in.
func operationEntry(p *task.OperationPolicy) *manifest.Operation {
	o := &manifest.Operation{
		Concurrency: "many", IncompatibleWith: slices.Clone(p.Incompatible), OnFailure: "fail_fast", Resume: "checkpoint",
		Complete: p.Complete, Cleanup: p.Cleanup,
	}
	switch p.Concurrency {
	case task.OnePerTarget:
		o.Concurrency = "one_per_target"
	case task.OnePerObject:
		o.Concurrency = "one_per_object"
	case task.Many:
	}
	if p.RunAll {
		o.OnFailure = "run_all"
	}
	if p.Restart {
		o.Resume = "restart"
	}
	return o
}
