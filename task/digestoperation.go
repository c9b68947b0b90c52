package task

// hashOperation hashes every field of o in two parts: those that never change are not hashed again.
func hashOperation(o *Operation) uint64 { return hashOperationStart(o) + hashOperationState(o) }

// hashOperationStart hashes what an operation begins with and keeps. The names of its partitions may be a hundred thousand.
func hashOperationStart(o *Operation) uint64 {
	h := newHasher(hashedOperation)
	h.operation(o)
	return h.sum()
}

// hashOperationState hashes what changes.
func hashOperationState(o *Operation) uint64 {
	h := newHasher(hashedOperationState)
	h.word(o.CreatedRev)
	h.operationState(o)
	return h.sum()
}
