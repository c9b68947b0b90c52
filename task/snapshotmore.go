package task

import (
	"cmp"
	"slices"
)

// freezeMore freezes namespaces, operations, instances, blobs and runs.
func (m *Machine) freezeMore(f *Frozen) {
	for _, n := range m.namespaces { // order-free: sorted below
		f.namespaces = append(f.namespaces, n.space)
	}
	slices.SortFunc(f.namespaces, func(a, b *Namespace) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range m.fanout.ordered {
		f.operations = append(f.operations, o.operation)
	}
	f.instances = slices.Clone(m.instances.sorted)
	f.blobs = m.blobs.freeze()
	f.runs = slices.Clone(m.runs)
	f.head.Namespaces, f.head.Operations = int64(len(f.namespaces)), int64(len(f.operations))
	f.head.Instances, f.head.Blobs, f.head.Runs = int64(len(f.instances)), int64(m.blobs.n), int64(len(f.runs))
}

func (f *Frozen) yieldMore(yield func(Record) bool) bool {
	return yieldAll(f.operations, yield) && yieldAll(f.instances, yield) && f.yieldBlobs(yield) && yieldAll(f.runs, yield)
}

// begin is what the Head changes: namespaces come as records.
func (r *restorer) begin() error {
	if r.head.Level < FirstLevel || r.head.Level > r.m.known {
		return bad("feature level %d; this build knows %d to %d", r.head.Level, FirstLevel, r.m.known)
	}
	clear(r.m.namespaces)
	return nil
}

func (r *restorer) takeMore(record Record) error {
	m := r.m
	switch x := record.(type) {
	case *Namespace:
		if m.namespaces[x.Name] != nil {
			return bad("namespace %s twice", x.Name)
		}
		own := *x
		x = &own
		x.Name = r.same(x.Name)
		m.namespaces[x.Name] = &namespaceRow{space: x}
		m.sum += hashNamespace(x)
		r.namespaces++
	case *Operation:
		return r.takeOperation(x)
	case *Instance:
		if m.instances.get(x.name()) != nil || !m.NamespaceExists(x.Namespace) {
			return bad("instance of %s/%s twice, or in an unknown namespace", x.Namespace, x.Behavior)
		}
		m.instances.put(x)
		m.sum += hashInstance(x)
	case *Blob:
		return r.takeBlob(x)
	case *MaintenanceRun:
		m.runs = append(m.runs, x)
		m.sum += hashRun(x)
	}
	return nil
}

// takeOperation keeps an operation until the blobs that it needs have been read.
func (r *restorer) takeOperation(x *Operation) error {
	m := r.m
	switch last := len(r.operations) - 1; {
	case m.operations[x.Key()] != nil || !m.NamespaceExists(x.Namespace):
		return bad("operation %s/%s twice, or in an unknown namespace", x.Namespace, x.ID)
	case x.CreatedRev == 0 || last >= 0 && r.operations[last].operation.CreatedRev >= x.CreatedRev:
		return bad("operations out of order at %s/%s", x.Namespace, x.ID)
	}
	if wrong := x.wrong(); wrong != "" {
		return bad("operation %s/%s: %s", x.Namespace, x.ID, wrong)
	}
	own := *x
	x = &own
	x.Namespace, x.Behavior, x.Version = r.same(x.Namespace), r.same(x.Behavior), r.same(x.Version)
	row := &operationRow{operation: x}
	r.operations = append(r.operations, row)
	m.operations[x.Key()] = row
	m.sum += hashOperation(x)
	return nil
}

// enterOperations enters all operations, whose tasks come next.
func (r *restorer) enterOperations() error {
	if err := r.references(); err != nil {
		return err
	}
	for _, row := range r.operations {
		for _, b := range r.m.behaviorsOf(row.operation) {
			if r.m.version(b, row.operation.Version) == nil {
				return bad("operation %s/%s needs a version of %s that is not there", row.operation.Namespace, row.operation.ID, b.name)
			}
		}
		r.m.enterOperationRecord(row)
	}
	return nil
}
