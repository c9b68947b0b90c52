package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// storeUpdate is X2's /update: all or nothing; the adds come before the changes.
func (m *Model) storeUpdate(c task.StoreUpdate, got task.Result) task.Result {
	mine := slices.Clone(c.Deletes)
	for _, x := range c.Changes {
		mine = append(mine, x.ID)
	}
	slices.Sort(mine)
	if code := m.accepting(c.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if mine = slices.Compact(mine); len(mine) < len(c.Deletes)+len(c.Changes) || len(mine)+len(c.Adds) == 0 {
		return task.Result{Code: task.InvalidCommand}
	}
	for _, a := range c.Adds {
		if badData(a.Data, a.Blob) {
			return task.Result{Code: task.InvalidCommand}
		}
	}
	for _, x := range c.Changes {
		if badData(x.Data, x.Blob) {
			return task.Result{Code: task.InvalidCommand}
		}
	}
	if no := m.storeConflict(c); len(no.Changes)+len(no.Deletes)+len(no.Depends)+len(no.Owned) > 0 {
		return task.Result{Code: task.StoreConflict, Refusal: &no}
	}
	growth := int64(0)
	for _, a := range c.Adds {
		if code := m.admit(a.Blob); code != task.OK {
			return task.Result{Code: code}
		}
		growth += int64(len(a.Data)) + m.size(a.Blob)
	}
	for _, x := range c.Changes {
		if code := m.admit(x.Blob); code != task.OK {
			return task.Result{Code: code}
		}
		growth += int64(len(x.Data)) + m.size(x.Blob)
	}
	for _, id := range mine {
		growth -= int64(len(m.Records[id].Data)) + m.size(m.Records[id].Blob)
	}
	r := m.charge(c.Namespace, demand{bytes: growth})
	if r.Code != task.OK {
		return r
	}
	for _, a := range c.Adds {
		m.refresh(task.Payload{}, a.Blob)
		m.record(&r, got, task.StoreRecord{Namespace: c.Namespace, Group: a.Group, Owner: c.Client, Available: m.when(a.Available), Data: a.Data, Blob: a.Blob})
	}
	for _, x := range c.Changes {
		m.refresh(m.Records[x.ID].Blob, x.Blob)
		m.record(&r, got, task.StoreRecord{Namespace: c.Namespace, Group: m.Records[x.ID].Group, Owner: c.Client, Available: m.when(x.Available), Data: x.Data, Blob: x.Blob})
		delete(m.Records, x.ID)
	}
	for _, id := range c.Deletes {
		delete(m.Records, id)
	}
	return r
}

// storeConflict says which records stand in the way of an update.
func (m *Model) storeConflict(c task.StoreUpdate) (no task.StoreRefusal) {
	check := func(id uint64, missing *[]uint64, change bool) {
		r := m.Record(c.Namespace, id)
		if r == nil {
			*missing = append(*missing, id)
		} else if change && r.Available > m.Now && r.Owner != c.Client {
			no.Owned = append(no.Owned, id)
		}
	}
	for _, x := range c.Changes {
		check(x.ID, &no.Changes, true)
	}
	for _, id := range c.Deletes {
		check(id, &no.Deletes, true)
	}
	for _, id := range c.Depends {
		check(id, &no.Depends, false)
	}
	return no
}

// badData: a record has data, or a blob that names no others.
func badData(data string, p task.Payload) bool {
	return p.Blobs != nil && (data != "" || p.Blobs.Content == "")
}

// when is a timespec: 0 is now, a negative one counts from now.
func (m *Model) when(t task.Time) task.Time {
	if t <= 0 {
		return m.Now - t
	}
	return t
}

// Record returns a record of the namespace, or nil.
func (m *Model) Record(ns string, id uint64) *task.StoreRecord {
	if r := m.Records[id]; r != nil && r.Namespace == ns {
		return r
	}
	return nil
}

// record stores a new record under the ID that the machine chose, and adds it to the answer.
func (m *Model) record(r *task.Result, got task.Result, x task.StoreRecord) {
	if n := len(r.Records); n < len(got.Records) {
		x.ID = m.Fresh(got.Records[n].ID)
	}
	m.Records[x.ID] = &x
	r.Records = append(r.Records, &x)
}

// Group returns the records of a group by ID. With available it returns only records that anybody may take.
func (m *Model) Group(ns, group string, available bool) []*task.StoreRecord {
	rs := slices.Collect(maps.Values(m.Records))
	rs = slices.DeleteFunc(rs, func(r *task.StoreRecord) bool {
		return r.Namespace != ns || r.Group != group || available && r.Available > m.Now
	})
	slices.SortFunc(rs, func(a, b *task.StoreRecord) int { return cmp.Compare(a.ID, b.ID) })
	return rs
}

// storeClaim is X2's /claim: one of the available records, by the proposer's random number.
func (m *Model) storeClaim(c task.StoreClaim, got task.Result) task.Result {
	var no task.StoreRefusal
	for _, id := range c.Depends {
		if m.Record(c.Namespace, id) == nil {
			no.Depends = append(no.Depends, id)
		}
	}
	free := m.Group(c.Namespace, c.Group, true)
	switch {
	case m.accepting(c.Namespace) != task.OK:
		return task.Result{Code: m.accepting(c.Namespace)}
	case len(no.Depends) > 0:
		return task.Result{Code: task.StoreConflict, Refusal: &no}
	case len(free) == 0:
		return task.Result{}
	}
	x := *free[c.Seed%uint64(len(free))]
	delete(m.Records, x.ID)
	x.Owner, x.Available = c.Client, m.Now+max(0, task.Time(c.Duration))
	var r task.Result
	m.record(&r, got, x)
	return r
}
