package task

// RemoveOperation deletes an operation and its tasks. Running tasks are halted (SPEC O6).
type RemoveOperation struct {
	Key Key `cbor:"1,keyasint"`
}

// apply hides the operation at once. Its tasks go in this entry and in Ticks, and the record goes with the last task.
// Until then its ID is not free, and its target is not free if the operation had not ended.
func (c RemoveOperation) apply(m *Machine) Result {
	r := m.liveOperation(c.Key)
	if r == nil {
		return m.noOperation(c.Key)
	}
	m.removeOperation(r)
	m.workOn(r, m.steps)
	return Result{Changed: true}
}

// removeOperation notes that r is being removed. Ticks remove it.
func (m *Machine) removeOperation(r *operationRow) {
	next := *r.operation
	next.Removing = true
	m.putOperation(r, &next)
}

// removeSome takes up to n steps of the removal. Running tasks go first, then waiting tasks, cleanups, the completion, and the final partitions from
// the last to the first. Made counts down, so that every state of the removal can be restored.
func (m *Machine) removeSome(o *operationRow, n int64) int64 {
	done := int64(0)
	for _, queue := range [...]*heap[*row]{&o.open, &o.cleanups} {
		for ; done < n && queue.Len() > 0; done++ {
			m.drop(queue.Head().Item)
		}
	}
	if done == n {
		return done
	}
	if r := m.find(o.operation.completionKey()); r != nil {
		m.drop(r)
		done++
	}
	next := *o.operation
	for ; done < n && next.Made > 0; done++ {
		next.Made--
		if r := m.find(next.partitionKey(next.Made)); r != nil {
			m.drop(r)
		}
	}
	if next.Made < o.operation.Made {
		m.putOperation(o, &next)
	}
	if next.Made == 0 && o.tasks == 0 {
		m.dropOperation(o)
	}
	return max(done, 1)
}
