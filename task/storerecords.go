package task

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task/records"
)

// This file is where package task meets package records, which keeps the records of the TaskStore API (SPEC X2).

func storeRecord(namespace string, r records.Record) *StoreRecord {
	x := &StoreRecord{
		ID: r.ID, Namespace: namespace, Group: r.Group, Owner: r.Owner, Available: Time(r.Available), Data: r.Data,
	}
	if r.Blob != nil {
		x.Blob = Payload{Encoding: Bytes, Blobs: &Blobs{Content: r.Blob.Digest, Size: r.Blob.Size}}
	}
	return x
}

// addRecord adds x as a new record. was is the blob of the record that it replaces, if any. Its ID is a rev: it rises and is never used again.
func (m *Machine) addRecord(x StoreRecord, was *Payload) *StoreRecord {
	m.rev++
	x.ID = m.rev
	m.refer(was, &x.Blob)
	m.enterRecord(&x)
	return &x
}

func (m *Machine) enterRecord(x *StoreRecord) {
	set := m.records[x.Namespace]
	if set == nil {
		set = records.New()
		m.records[x.Namespace] = set
	}
	r := records.Record{ID: x.ID, Group: x.Group, Owner: x.Owner, Available: int64(x.Available), Data: x.Data}
	if b := x.Blob.Blobs; b != nil {
		r.Blob = &records.Blob{Digest: b.Content, Size: b.Size}
	}
	set.Add(r, int64(m.now))
	m.sum += hashStoreRecord(x)
	m.counts.Records++
	m.countRecord(x, 1)
}

// dropRecord deletes a record that is there and returns it. As Machine.put does, it takes from the sum the hash of the record that is in memory now.
func (m *Machine) dropRecord(namespace string, id uint64) *StoreRecord {
	r, _ := m.records[namespace].Remove(id)
	x := storeRecord(namespace, r)
	m.sum -= hashStoreRecord(x)
	m.counts.Records--
	m.countRecord(x, -1)
	return x
}

// StoreRecord returns a record of the TaskStore API, or nil.
func (m *Machine) StoreRecord(namespace string, id uint64) *StoreRecord {
	if r, ok := m.records[namespace].Find(id); ok {
		return storeRecord(namespace, r)
	}
	return nil
}

// StoreRecords yields records of a group by ID: those that are available at a time, or all if owned.
func (m *Machine) StoreRecords(namespace, group string, owned bool, at Time) iter.Seq[*StoreRecord] {
	return func(yield func(*StoreRecord) bool) {
		set := m.records[namespace]
		if set == nil {
			return
		}
		for r := range set.Group(group, owned, int64(at)) {
			if !yield(storeRecord(namespace, r)) {
				return
			}
		}
	}
}

// StoreGroups returns the groups of a namespace that have records, sorted.
func (m *Machine) StoreGroups(namespace string) []string {
	if set := m.records[namespace]; set != nil {
		return set.Groups()
	}
	return nil
}

// frozenRecords are the records of a namespace at one index.
type frozenRecords struct {
	namespace string
	frozen    records.Frozen
}

func (m *Machine) freezeRecords() []frozenRecords {
	var all []frozenRecords
	for _, ns := range slices.Sorted(maps.Keys(m.records)) {
		if set := m.records[ns]; set.Len() > 0 {
			all = append(all, frozenRecords{ns, set.Freeze()})
		}
	}
	return all
}

// yieldRecords yields the records by namespace and ID.
func (f *Frozen) yieldRecords(yield func(Record) bool) bool {
	for _, ns := range f.records {
		for r := range ns.frozen.All {
			if !yield(storeRecord(ns.namespace, r)) {
				return false
			}
		}
	}
	return true
}

// takeStoreRecord is the restorer's part for a record. The head's clock has been read before.
func (r *restorer) takeStoreRecord(x *StoreRecord) error {
	m := r.m
	last := r.lastRecord
	switch {
	case !m.NamespaceExists(x.Namespace):
		return bad("record %d in the unknown namespace %s", x.ID, x.Namespace)
	case x.Namespace < last.Namespace, x.Namespace == last.Namespace && x.ID <= last.ID:
		return bad("records out of order at %s/%d", x.Namespace, x.ID)
	case x.ID == 0 || x.ID > m.rev || x.Group == "":
		return bad("record %s/%d has no group, or an ID that was not given", x.Namespace, x.ID)
	case wrongData(x.Data, &x.Blob) != "":
		return bad("record %s/%d: %s", x.Namespace, x.ID, wrongData(x.Data, &x.Blob))
	}
	if err := r.known(Key{x.Namespace, x.Group}, &x.Blob); err != nil {
		return err
	}
	x.Namespace = r.strings.Same(x.Namespace)
	m.enterRecord(x)
	r.lastRecord = *x
	return nil
}

func (c *checker) records() {
	m := c.m
	for ns, set := range m.records { // order-free: the sum commutes, and any violation will do
		c.expect(m.NamespaceExists(ns), "records in the unknown namespace %s", ns)
		if err := set.Check(); err != nil {
			c.errs = append(c.errs, fmt.Errorf("namespace %s: %w", ns, err))
			continue
		}
		for _, group := range set.Groups() {
			for r := range set.Group(group, true, 0) {
				x := storeRecord(ns, r)
				c.sum += hashStoreRecord(x)
				c.counts.Records++
				c.space(ns).usage.Records++
				c.space(ns).usage.Bytes += x.Len()
				c.expect(wrongData(x.Data, &x.Blob) == "", "record %s/%d: %s", ns, x.ID, wrongData(x.Data, &x.Blob))
				c.expect(x.ID <= m.rev && x.Group != "", "record %s/%d: ID or group", ns, x.ID)
			}
		}
	}
}
