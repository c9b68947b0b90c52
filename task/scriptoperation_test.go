package task_test

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// What scripts say about operations:
//
//	limits steps=N cleanups=N …                     of the machine, first of all
//	activate NAME... op=1 [concurrency=one_per_target|one_per_object] [incompatible=A,B] [run_all=1] [restart=1] [complete=NAME] [cleanup=NAME]
//	op ID BEHAVIOR [parts=N | names=A,B] [target=T] [object=O] [arg=JSON] [priority=N] [label=K:V] [behavior_rev=N] [trace=TRACEPARENT]
//	opcancel ID · opretry ID · oprm ID
//	ops [KEY=VALUE of a filter] · parts ID [from=N] [limit=N] [status=S] · owner ID (of a task)

// operationPolicy is operation{} of a manifest.
func (a *args) operationPolicy() *task.OperationPolicy {
	if a.number("op", 0) == 0 {
		return nil
	}
	p := &task.OperationPolicy{
		Concurrency: map[string]task.Concurrency{
			"": task.Many, "one_per_target": task.OnePerTarget, "one_per_object": task.OnePerObject,
		}[a.text("concurrency", "")],
		RunAll: a.number("run_all", 0) != 0, Restart: a.number("restart", 0) != 0,
		Complete: a.text("complete", ""), Cleanup: a.text("cleanup", ""),
	}
	if names := a.text("incompatible", ""); names != "" {
		p.Incompatible = strings.Split(names, ",")
	}
	return p
}

func (s *script) operationCommand(a *args) task.Command {
	switch a.verb {
	case "op":
		k := s.key(a)
		c := task.StartOperation{
			Namespace: k.Namespace, ID: k.ID, Behavior: a.word(1), Target: a.text("target", ""), Object: a.text("object", ""),
			Partitions: a.number("parts", 0), Arg: a.payloadOrNone("arg"), Priority: int8(a.number("priority", 4)), Trace: a.text("trace", ""),
			BehaviorRev: uint64(a.number("behavior_rev", 0)),
		}
		if names := a.text("names", ""); names != "" {
			c.Names = strings.Split(names, ",")
			if c.Partitions == 0 {
				c.Partitions = int64(len(c.Names))
			}
		}
		if name, value, ok := strings.Cut(a.text("label", ""), ":"); ok {
			c.Labels = []task.Label{{Name: name, Value: value}}
		}
		return c
	case "opcancel":
		return task.CancelOperation{Key: s.key(a)}
	case "opretry":
		return task.RetryOperation{Key: s.key(a)}
	case "oprm":
		return task.RemoveOperation{Key: s.key(a)}
	}
	return nil
}

// lookAtOperations runs the lines that only read.
func (s *script) lookAtOperations(a *args) bool {
	switch a.verb {
	case "limits":
		s.m = task.NewMachine(task.WithLimit(task.Limit{
			Steps: a.number("steps", 0), Cleanups: a.number("cleanups", 0), Finals: a.number("finals", 0), Sweep: a.number("sweep", 0),
			StrikesATick: a.number("strikes", 0), Namespaces: a.number("namespaces", 0),
		}))
	case "ops":
		f := task.OperationFilter{
			Namespace: a.text("ns", ""), Behavior: a.text("behavior", ""), Target: a.text("target", ""),
			Limit: int(a.number("limit", 100)), After: uint64(a.number("after", 0)),
		}
		f.Status = valueOf(a.named["status"], task.OperationRunning, task.OperationFailure)
		operations, next := s.m.Operations(f)
		for _, o := range operations {
			fmt.Fprintln(&s.out, formatOperation(o))
		}
		if next != 0 {
			fmt.Fprintln(&s.out, "next", next)
		}
	case "parts":
		status := valueOf(a.named["status"], task.Created, task.Failure)
		tasks, next := s.m.OperationTasks(s.key(a), a.number("from", 0), int(a.number("limit", 100)), status)
		for _, t := range tasks {
			fmt.Fprintf(&s.out, "%d %q %s\n", task.PartitionOf(t), t.Partition, formatTask(t))
		}
		fmt.Fprintln(&s.out, "next", next)
	case "owner":
		t := s.m.Task(s.key(a))
		if o := s.m.OperationOf(t); o != nil {
			fmt.Fprintf(&s.out, "%s: partition %d of %s\n", t.ID, task.PartitionOf(t), formatOperation(o))
		} else {
			fmt.Fprintf(&s.out, "%s: of no operation\n", t.ID)
		}
	default:
		return false
	}
	return true
}

// valueOf returns the value from first to last with that word, or 0.
func valueOf[E interface {
	~uint8
	fmt.Stringer
}](word string, first, last E) E {
	for v := first; v <= last; v++ {
		if v.String() == word {
			return v
		}
	}
	return 0
}

func formatOperation(o *task.Operation) string {
	var f fields
	f.add("target", o.Target)
	f.add("object", o.Object)
	f.add("creator", o.Creator)
	f.add("trace", o.Trace)
	f.add("arg", o.Arg)
	f.add("names", o.Names)
	f.add("stop", o.Stop)
	f.add("result", o.Result)
	if o.Error != nil {
		f.add("error", fmt.Sprintf("%s{%s}", o.Error.Code, o.Error.Message))
	}
	f.add("removing", o.Removing)
	f.add("cleanups", o.Cleanups)
	f.add("dropped", o.Dropped)
	f.add("retry", o.RetryRev)
	for _, l := range o.Labels {
		f.add(l.Name, l.Value)
	}
	if o.Priority != 4 {
		f.add("priority", o.Priority)
	}
	f.add("finished", o.FinishedAt)
	if o.Counts != (task.OperationCounts{}) {
		f.add("counts", fmt.Sprintf("%+v", o.Counts))
	}
	return fmt.Sprintf("operation %s: %s rev=%d created=%d/%d of=%s@%s #%d made=%d/%d %s", o.ID, o.Status, o.Rev, o.CreatedRev, o.CreatedAt,
		o.Behavior, o.Version, o.Instance, o.Made, o.Partitions, f.b.String())
}
