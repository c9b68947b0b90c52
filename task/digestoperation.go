package task

func (h *hasher) operationPolicy(p *OperationPolicy) {
	h.word(uint64(p.Concurrency))
	h.strs(p.Incompatible)
	h.bool(p.RunAll)
	h.bool(p.Restart)
	h.str(p.Complete)
	h.str(p.Cleanup)
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
