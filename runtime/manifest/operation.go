package manifest

import (
	"fmt"
	"slices"
)

// Operation makes a behavior one of which operations can be started (SPEC O2).
type Operation struct {
	Concurrency      string   `json:"concurrency,omitempty"`       // "many", "one_per_target" or "one_per_object"
	IncompatibleWith []string `json:"incompatible_with,omitempty"` // behaviors that may not run on the same target
	OnFailure        string   `json:"on_failure,omitempty"`        // "fail_fast" or "run_all"
	Resume           string   `json:"resume,omitempty"`            // "checkpoint" or "restart"
	Complete         string   `json:"complete,omitempty"`          // behaviors of the same module
	Cleanup          string   `json:"cleanup,omitempty"`
}

// MaxIncompatible bounds incompatible_with.
const MaxIncompatible = 100

// ordinaryFields are fields that a behavior of partitions cannot have. An operation names its tasks itself, runs each
// of them to one outcome, and makes their params when they are needed.
var ordinaryFields = [...]string{"repeat_every", "id", "concurrency_key"}

// parseOperation reads operation{} of a behavior. It runs before the fields are read that operation{} excludes.
func parseOperation(f *fields) *Operation {
	o, ok := f.object("operation")
	if !ok {
		return nil
	}
	for _, name := range ordinaryFields {
		if _, given := f.left[name]; given {
			f.fail(name, "cannot be given with operation")
		}
	}
	p := &Operation{
		Concurrency:      o.oneOf("concurrency", "many", "one_per_target", "one_per_object"),
		IncompatibleWith: o.strings("incompatible_with", MaxIncompatible),
		OnFailure:        o.oneOf("on_failure", "fail_fast", "run_all"),
		Resume:           o.oneOf("resume", "checkpoint", "restart"),
	}
	p.Complete, _ = o.string("complete")
	p.Cleanup, _ = o.string("cleanup")
	o.end()
	return p
}

// checkOperation checks the names in operation{} of behavior i, which stands at path.
func (m *Manifest) checkOperation(i int, path string) error {
	o := m.Behaviors[i].Operation
	if o == nil {
		return nil
	}
	for j, name := range o.IncompatibleWith {
		field := fmt.Sprintf("%s.operation.incompatible_with[%d]", path, j)
		switch {
		case !behaviorName.MatchString(name):
			return badName(field, name)
		case slices.Index(o.IncompatibleWith, name) < j:
			return badManifest(field, "%q stands twice", name)
		}
	}
	for _, job := range []struct{ field, name string }{{"complete", o.Complete}, {"cleanup", o.Cleanup}} {
		field := path + ".operation." + job.field
		if job.name == "" {
			continue
		}
		if !behaviorName.MatchString(job.name) {
			return badName(field, job.name)
		}
		j := slices.IndexFunc(m.Behaviors, func(b Behavior) bool { return b.Name == job.name })
		switch {
		case j < 0:
			return badManifest(field, "%q is no behavior of this module", job.name)
		case m.Behaviors[j].Operation != nil:
			return badManifest(field, "%q has an operation of its own: it runs as one ordinary task", job.name)
		case m.Behaviors[j].RepeatEvery != nil:
			return badManifest(field, "%q has repeat_every: it must come to an end", job.name)
		}
	}
	return nil
}

// OperationSettings are an Operation with every default filled in.
type OperationSettings struct {
	Concurrency      string
	IncompatibleWith []string // sorted
	RunAll           bool
	Restart          bool
	Complete         string
	Cleanup          string
}

func (o *Operation) settings() *OperationSettings {
	if o == nil {
		return nil
	}
	s := &OperationSettings{
		Concurrency: o.Concurrency, IncompatibleWith: slices.Sorted(slices.Values(o.IncompatibleWith)),
		RunAll: o.OnFailure == "run_all", Restart: o.Resume == "restart", Complete: o.Complete, Cleanup: o.Cleanup,
	}
	if s.Concurrency == "" {
		s.Concurrency = "many"
	}
	return s
}
