package task

// hashOperation hashes every field of o in two parts, so that fields that never change are not hashed again.
func hashOperation(o *Operation) uint64 { return hashOperationStart(o) + hashOperationState(o) }

// hashOperationStart hashes the fields that an operation begins with and keeps. There may be a hundred thousand names
// of partitions.
func hashOperationStart(o *Operation) uint64 {
	h := newHasher(hashedOperation)
	h.operation(o)
	return h.Sum()
}

// hashOperationState hashes the fields that change.
func hashOperationState(o *Operation) uint64 {
	h := newHasher(hashedOperationState)
	h.Word(o.CreatedRev)
	h.operationState(o)
	return h.Sum()
}
