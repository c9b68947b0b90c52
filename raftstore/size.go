package raftstore

import "github.com/taskrt/taskrt/task"

// sizeBase is about what tags, numbers and the origin of a command take.
const sizeBase = 64

// commandSize estimates the encoded size of a command: exact where it can be large.
func commandSize(c task.Command) int {
	switch c := c.(type) {
	case task.Submit:
		return submitSize(&c)
	case task.Finish:
		return finishSize(&c)
	case task.Beat:
		return sizeBase + keySize(c.Key) + payloadSize(c.Progress, c.Checkpoint)
	case task.Snooze:
		return sizeBase + keySize(c.Key) + payloadSize(c.Checkpoint, c.Progress)
	case task.Assign:
		return sizeBase + keySize(c.Key)
	case task.Activate:
		n := sizeBase + len(c.Module.Manifest) + len(c.Module.Digest) + len(c.Module.Version)
		for _, a := range c.Behaviors {
			n += len(a.Name) + policySize(&a.Policy)
		}
		return n
	case task.PutBehavior:
		return sizeBase + len(c.Name) + len(c.Version) + policySize(&c.Policy)
	case task.Txn:
		return txnSize(&c)
	case task.StoreUpdate:
		n := sizeBase + len(c.Namespace) + 32*(len(c.Adds)+len(c.Changes)) + 9*(len(c.Deletes)+len(c.Depends))
		for i := range c.Adds {
			n += len(c.Adds[i].Group) + len(c.Adds[i].Data) + payloadSize(&c.Adds[i].Blob)
		}
		for i := range c.Changes {
			n += len(c.Changes[i].Data) + payloadSize(&c.Changes[i].Blob)
		}
		return n
	case task.StoreClaim:
		return sizeBase + len(c.Namespace) + len(c.Group) + 9*len(c.Depends)
	case task.ImportRecords:
		return importSize(&c)
	}
	return otherSize(c)
}

// otherSize is commandSize of what is about operations, blobs and maintenance.
func otherSize(c task.Command) int {
	n := 4 * sizeBase
	switch c := c.(type) {
	case task.StartOperation:
		n += len(c.ID) + len(c.Behavior) + len(c.Target) + len(c.Object) + payloadSize(&c.Arg) + labelsSize(c.Labels) + namesSize(c.Names)
	case task.StartMaintenance:
		n += payloadSize(&c.Params)
	case task.RecordRun:
		n += len(c.Run.Message)
		for i := range c.Run.Objects {
			n += sizeBase + len(c.Run.Objects[i].Kind) + len(c.Run.Objects[i].Namespace)
		}
	case task.CrashSession:
		n += len(c.Worker) + len(c.Proof) + 9*len(c.Tokens)
	case task.DropTasks:
		n += keyRevsSize(c.Tasks)
	case task.DropOperations:
		n += keyRevsSize(c.Operations)
	case task.DropBlobs:
		n += namesSize(c.Digests)
	}
	return n
}

func keyRevsSize(ks []task.KeyRev) (n int) {
	for i := range ks {
		n += 16 + keySize(ks[i].Key)
	}
	return n
}

func namesSize(names []string) (n int) {
	for _, name := range names {
		n += 3 + len(name)
	}
	return n
}

func keySize(k task.Key) int { return len(k.Namespace) + len(k.ID) }

func payloadSize(ps ...*task.Payload) (n int) {
	for _, p := range ps {
		if p != nil {
			n += len(p.Data)
			if p.Blobs != nil {
				n += sizeBase + len(p.Blobs.Content) + namesSize(p.Blobs.Named)
			}
		}
	}
	return n
}

func labelsSize(labels []task.Label) (n int) {
	for _, l := range labels {
		n += len(l.Name) + len(l.Value) + 4
	}
	return n
}

func submitSize(c *task.Submit) int {
	return sizeBase + len(c.Namespace) + len(c.ID) + len(c.Behavior) + len(c.ConcurrencyKey) + payloadSize(&c.Params) + labelsSize(c.Labels)
}

func finishSize(c *task.Finish) int {
	n := sizeBase + keySize(c.Key) + payloadSize(&c.Result, c.Progress)
	if c.Error != nil {
		n += len(c.Error.Code) + len(c.Error.Message) + payloadSize(&c.Error.Details)
	}
	return n
}

func policySize(p *task.Policy) int {
	n := 256 + len(p.Description) + len(p.ParamsSchema) + len(p.ResultSchema) + len(p.ConcurrencyKey)
	for _, pointer := range p.IDFrom {
		n += len(pointer)
	}
	return n
}

func txnSize(c *task.Txn) int {
	n := sizeBase + len(c.Namespace)
	for i := range c.Depends {
		n += sizeBase/2 + len(c.Depends[i].ID)
	}
	for i := range c.Submits {
		n += submitSize(&c.Submits[i])
	}
	for i := range c.Updates {
		u := &c.Updates[i]
		n += sizeBase + len(u.ID) + len(u.ConcurrencyKey) + payloadSize(u.Params) + labelsSize(u.Labels)
	}
	for i := range c.Finishes {
		n += finishSize(&c.Finishes[i])
	}
	for i := range c.Deletes {
		n += sizeBase/2 + len(c.Deletes[i].ID)
	}
	return n
}

func importSize(c *task.ImportRecords) int {
	n := sizeBase + len(c.Namespace)
	for _, m := range c.Modules {
		n += sizeBase + len(m.Digest) + len(m.Version) + len(m.Manifest)
	}
	for _, b := range c.Behaviors {
		n += sizeBase + len(b.Name) + len(b.Active)
		for i := range b.Versions {
			n += sizeBase + len(b.Versions[i].Version) + len(b.Versions[i].Module) + policySize(&b.Versions[i].Policy)
		}
	}
	for _, o := range c.Operations {
		n += 4*sizeBase + len(o.ID) + len(o.Target) + len(o.Object) + payloadSize(&o.Arg, &o.Result) + errorSize(o.Error) + labelsSize(o.Labels)
		n += namesSize(o.Names)
	}
	for _, t := range c.Tasks {
		n += importedTask(t)
	}
	for _, r := range c.Records {
		n += sizeBase + len(r.Group) + len(r.Data) + payloadSize(&r.Blob)
	}
	return n
}

func importedTask(t *task.Task) int {
	n := 4*sizeBase + keySize(t.Key()) + len(t.Behavior) + len(t.Version) + len(t.Parent) + len(t.Partition) + len(t.ConcurrencyKey)
	n += payloadSize(&t.Params, &t.Result, &t.Progress, &t.Checkpoint) + errorSize(t.Error) + labelsSize(t.Labels)
	for i := range t.History {
		n += sizeBase + len(t.History[i].Worker) + len(t.History[i].Node)
	}
	return n
}

func errorSize(e *task.Error) int {
	if e == nil {
		return 0
	}
	return len(e.Code) + len(e.Message) + payloadSize(&e.Details)
}
