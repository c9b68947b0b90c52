package task

import "github.com/taskrt/taskrt/task/upkeep"

// DropOperations deletes final operations with their tasks, for a run of maintenance.
type DropOperations struct {
	Token      uint64   `cbor:"1,keyasint"`
	Operations []KeyRev `cbor:"2,keyasint"`
}

// apply hides the operations that have not changed since the run looked. Their tasks go in this entry and in Ticks, as with RemoveOperation.
func (c DropOperations) apply(m *Machine) Result {
	switch {
	case !m.maintenanceRun(c.Token):
		return halt()
	case len(c.Operations) > MaxDrop:
		return tooMany("operations")
	}
	var dropped int64
	by := map[string]int64{} // by namespace
	for i := range c.Operations {
		r := m.liveOperation(c.Operations[i].Key)
		if r == nil || r.operation.Rev != c.Operations[i].Rev || !r.operation.Final() {
			continue
		}
		m.removeOperation(r)
		m.workOn(r, m.steps)
		dropped++
		by[c.Operations[i].Key.Namespace]++
	}
	m.tallyAll(c.Token, upkeep.OfOperation, by)
	return Result{Count: dropped}
}
