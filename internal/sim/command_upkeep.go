package sim

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// upkeep makes commands about blobs and maintenance.
func (s *symbols) upkeep(o Op) task.Command {
	run := task.MaintenanceKey()
	token := s.token(Op{NS: run.Namespace, ID: run.ID, Attempt: o.Attempt})
	ns := o.key().Namespace
	switch o.Verb {
	case "import":
		return s.export(o)
	case "note":
		c := task.NoteBlob{Digest: digestOf(o.Blob), Size: o.Size, Ready: o.On}
		if s.last != nil && o.Valid > 0 {
			if b := s.last.Blob(c.Digest); b != nil {
				c.Since = b.Made + 1 - uint64(o.Valid)
			}
		}
		return c
	case "maintain":
		return task.StartMaintenance{Params: payload(o.Params), Supersede: o.Attempt}
	case "record":
		r := task.MaintenanceRun{Success: o.Keep, DryRun: o.Existing, Objects: []task.ObjectCount{{Kind: "task", Scanned: o.Max}}}
		if o.On {
			r.FinishedAt = 1
		}
		return task.RecordRun{Token: token, Run: r}
	case "drop-blobs":
		c := task.DropBlobs{Token: token, Before: o.At}
		for _, name := range o.Blobs {
			c.Digests = append(c.Digests, digestOf(name))
		}
		return c
	case "drop-tasks":
		c := task.DropTasks{Token: token}
		for _, p := range o.Parts {
			p.ID = s.real(p.Op)
			c.Tasks = append(c.Tasks, task.KeyRev{Key: p.key(), Rev: s.rev(p.Op)})
		}
		return c
	case "drop-operations":
		c := task.DropOperations{Token: token}
		for _, p := range o.Parts {
			c.Operations = append(c.Operations, task.KeyRev{Key: p.key(), Rev: before(s.operations[p.key()], p.Age)})
		}
		return c
	case "trim":
		return task.TrimBehavior{Token: token, Namespace: ns, Name: o.Behavior, Max: o.Max}
	case "purge":
		return task.PurgeNamespace{Token: token, Namespace: ns, Max: o.Max}
	case "end-purge":
		return task.EndPurge{Token: token, Namespace: ns, Forget: o.For}
	}
	panic(fmt.Sprintf("sim: unknown verb %q", o.Verb))
}

// export makes an import of the records that the parts name.
func (s *symbols) export(o Op) task.ImportRecords {
	c := task.ImportRecords{Namespace: o.key().Namespace}
	if s.last == nil {
		return c
	}
	from := Op{NS: o.From}.key().Namespace
	behaviors := map[string]*task.Behavior{}
	for _, b := range s.last.BehaviorsAfter(from, "", 100) {
		if b.Namespace == from {
			behaviors[b.Name] = b
		}
	}
	for _, p := range o.Parts {
		p.NS = o.From
		p.ID = s.real(p.Op)
		switch p.Kind {
		case "task":
			if t := s.last.Task(p.key()); t != nil {
				c.Tasks = append(c.Tasks, t)
			}
		case "behavior":
			b := behaviors[p.Behavior]
			if b == nil {
				continue
			}
			c.Behaviors = append(c.Behaviors, b)
			for i := range b.Versions {
				if m := s.last.Module(b.Versions[i].Module); m != nil && !p.On { // On: without its modules
					c.Modules = append(c.Modules, m)
				}
			}
		case "operation":
			if x := s.last.Operation(p.key()); x != nil {
				c.Operations = append(c.Operations, x)
				for _, t := range allTasks(s.last) {
					if t.Namespace == from && t.Parent == x.ID && len(c.Tasks) < 100 {
						c.Tasks = append(c.Tasks, t)
					}
				}
			}
		case "record":
			if x := s.last.StoreRecord(from, s.record(p.Op)); x != nil {
				c.Records = append(c.Records, x)
			}
		default:
			panic(fmt.Sprintf("sim: unknown part %q", p.Kind))
		}
	}
	return c
}
