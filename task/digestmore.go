package task

func (h *hasher) operationPolicy(p *OperationPolicy) {
	h.word(uint64(p.Concurrency))
	h.strs(p.Incompatible)
	h.bool(p.RunAll)
	h.bool(p.Restart)
	h.str(p.Complete)
	h.str(p.Cleanup)
}

func hashNamespace(n *Namespace) uint64 {
	h := newHasher(hashedNamespace)
	h.str(n.Name)
	h.word(uint64(n.Status))
	h.int(n.Quota.MaxTasks)
	h.int(n.Quota.MaxBytes)
	h.int(n.Quota.SubmitsPerSecond)
	h.int(int64(n.Retention.Success))
	h.int(int64(n.Retention.Failure))
	h.int(n.Retention.Count)
	h.word(n.Rev)
	h.int(int64(n.CreatedAt))
	h.int(int64(n.ChangedAt))
	h.int(n.Bucket)
	h.int(int64(n.BucketAt))
	h.int(n.Weight)
	h.int(n.MaxRunning)
	return h.sum()
}

// hashOperation hashes every field of o in two parts: those that never change are not hashed again.
func hashOperation(o *Operation) uint64 { return hashOperationStart(o) + hashOperationState(o) }

// hashOperationStart hashes what an operation begins with and keeps. The names of its partitions may be a hundred thousand.
func hashOperationStart(o *Operation) uint64 {
	h := newHasher(hashedOperation)
	h.str(o.Namespace)
	h.str(o.ID)
	h.str(o.Behavior)
	h.str(o.Version)
	h.str(o.Target)
	h.str(o.Object)
	h.int(o.Instance)
	h.operationPolicy(&o.Policy)
	h.payload(o.Arg)
	h.int(o.Partitions)
	h.strs(o.Names)
	h.labels(o.Labels)
	h.int(int64(o.Priority))
	h.word(o.CreatedRev)
	h.int(int64(o.CreatedAt))
	return h.sum()
}

func hashOperationState(o *Operation) uint64 {
	h := newHasher(hashedOperationState)
	h.word(o.CreatedRev)
	h.word(uint64(o.Status))
	h.int(o.Made)
	h.str(o.Stop)
	h.payload(o.Result)
	h.error(o.Error)
	h.bool(o.Removing)
	h.int(o.Dropped)
	h.int(o.Cleanups)
	h.word(o.Rev)
	h.int(int64(o.FinishedAt))
	h.word(o.RetryRev)
	return h.sum()
}

func hashInstance(x *Instance) uint64 {
	h := newHasher(hashedInstance)
	h.str(x.Namespace)
	h.str(x.Behavior)
	h.str(x.Target)
	h.int(x.Last)
	h.word(x.Rev)
	return h.sum()
}

func hashBlob(b *Blob) uint64 {
	h := newHasher(hashedBlob)
	h.str(b.Digest)
	h.int(b.Size)
	h.bool(b.Ready)
	h.int(int64(b.Noted))
	h.word(b.Made)
	return h.sum()
}

func hashRun(r *MaintenanceRun) uint64 {
	h := newHasher(hashedRun)
	h.int(r.Run)
	h.word(r.Token)
	h.str(r.Worker)
	h.bool(r.DryRun)
	h.int(int64(r.StartedAt))
	h.int(int64(r.FinishedAt))
	h.bool(r.Success)
	h.str(r.Message)
	h.int(int64(r.Before))
	h.word(uint64(len(r.Objects)))
	for i := range r.Objects {
		o := &r.Objects[i]
		h.str(o.Kind)
		h.str(o.Namespace)
		h.int(o.Scanned)
		h.int(o.Retained)
		h.int(o.Newer)
		h.int(o.Deleted)
	}
	h.int(r.Filter.Items)
	h.int(r.Filter.Bits)
	h.int(r.Filter.Hashes)
	h.int(r.Filter.PPB)
	h.str(r.Ended)
	h.int(r.By)
	return h.sum()
}
