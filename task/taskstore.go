package task

import (
	"math"
	"slices"

	"github.com/taskrt/taskrt/task/records"
)

// StoreRecord is one record of the TaskStore API: a plain coordination task in a free-form group. Records stand beside the tasks, and tasks do not
// see them (SPEC X2). A record is immutable: a change makes a new record with a new ID, which is a rev.
//
//fields:hash record
type StoreRecord struct {
	ID        uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Group     string `cbor:"3,keyasint"`
	Owner     int64  `cbor:"4,keyasint,omitempty"`
	Available Time   `cbor:"5,keyasint,omitempty"` // it may be claimed, or changed by anybody, from then on
	Data      string `cbor:"6,keyasint,omitempty"`
	// Blob stands instead of Data that is too long for the log. Its bytes are a blob.
	Blob Payload `cbor:"7,keyasint,omitempty" field:"hash=blob"`
}

// Len returns how many bytes the data has, wherever they are.
func (x *StoreRecord) Len() int64 { return int64(len(x.Data)) + x.Blob.Len() }

// StoreUpdate adds, changes and deletes records, all or nothing (SPEC X2 `/update`).
type StoreUpdate struct {
	Namespace string        `cbor:"1,keyasint"`
	Client    int64         `cbor:"2,keyasint"`
	Adds      []StoreAdd    `cbor:"3,keyasint,omitempty"`
	Changes   []StoreChange `cbor:"4,keyasint,omitempty"`
	Deletes   []uint64      `cbor:"5,keyasint,omitempty"`
	Depends   []uint64      `cbor:"6,keyasint,omitempty"`
}

// MaxStoreParts bounds the parts of a StoreUpdate, and the depends of a StoreClaim.
const MaxStoreParts = 4_000

// StoreAdd is a new record. The caller becomes its owner.
type StoreAdd struct {
	Group     string  `cbor:"1,keyasint"`
	Data      string  `cbor:"2,keyasint,omitempty"`
	Available Time    `cbor:"3,keyasint,omitempty"` // 0: now; negative: now plus its absolute value
	Blob      Payload `cbor:"4,keyasint,omitempty"` // as in StoreRecord
}

// StoreChange replaces a record. The record's group stays.
type StoreChange struct {
	ID        uint64  `cbor:"1,keyasint"`
	Data      string  `cbor:"2,keyasint,omitempty"`
	Available Time    `cbor:"3,keyasint,omitempty"` // as in StoreAdd
	Blob      Payload `cbor:"4,keyasint,omitempty"` // as in StoreRecord
}

// StoreClaim takes a random available record of a group for the client (SPEC X2 `/claim`).
type StoreClaim struct {
	Namespace string   `cbor:"1,keyasint"`
	Client    int64    `cbor:"2,keyasint"`
	Group     string   `cbor:"3,keyasint"`
	Duration  Millis   `cbor:"4,keyasint,omitempty"` // negative counts as 0
	Depends   []uint64 `cbor:"5,keyasint,omitempty"`
	Seed      uint64   `cbor:"6,keyasint,omitempty"` // drawn by the proposer; it chooses one of the available records
}

// StoreRefusal says why a StoreUpdate or StoreClaim did nothing: IDs that are missing, by list, and IDs that another client owns.
type StoreRefusal struct {
	Changes []uint64 `cbor:"1,keyasint,omitempty"`
	Deletes []uint64 `cbor:"2,keyasint,omitempty"`
	Depends []uint64 `cbor:"3,keyasint,omitempty"`
	Owned   []uint64 `cbor:"4,keyasint,omitempty"`
}

func (c StoreUpdate) apply(m *Machine) Result {
	if r := c.check(m); r.Code != OK {
		return r
	}
	set := m.records[c.Namespace]
	var no StoreRefusal
	for _, x := range c.Changes {
		set.Claim(x.ID, c.Client, int64(m.now), &no.Changes, &no.Owned)
	}
	for _, id := range c.Deletes {
		set.Claim(id, c.Client, int64(m.now), &no.Deletes, &no.Owned)
	}
	no.Depends = set.Missing(c.Depends)
	if len(no.Changes)+len(no.Deletes)+len(no.Depends)+len(no.Owned) > 0 {
		return no.result()
	}
	if r, ok := c.admit(m); !ok {
		return r
	}
	if r := m.charge(c.Namespace, demand{bytes: c.growth(set)}); r.Code != OK {
		return r
	}
	made := make([]*StoreRecord, 0, len(c.Adds)+len(c.Changes))
	for _, x := range c.Adds {
		made = append(made, m.addRecord(StoreRecord{
			Namespace: c.Namespace, Group: x.Group, Owner: c.Client, Available: m.availableAt(x.Available), Data: x.Data, Blob: x.Blob,
		}, &Payload{}))
	}
	for _, x := range c.Changes {
		old := m.dropRecord(c.Namespace, x.ID)
		made = append(made, m.addRecord(StoreRecord{
			Namespace: c.Namespace, Group: old.Group, Owner: c.Client, Available: m.availableAt(x.Available), Data: x.Data, Blob: x.Blob,
		}, &old.Blob))
	}
	for _, id := range c.Deletes {
		m.dropRecord(c.Namespace, id)
	}
	return Result{Records: made}
}

// admit refuses the update if it needs a blob that is not stored. It comes after the checks for other clients' changes,
// so that nobody puts a blob for an update that conflicts.
func (c *StoreUpdate) admit(m *Machine) (Result, bool) {
	for i := range c.Adds {
		if r, ok := m.admit("adds", &c.Adds[i].Blob); !ok {
			return r, false
		}
	}
	for i := range c.Changes {
		if r, ok := m.admit("updates", &c.Changes[i].Blob); !ok {
			return r, false
		}
	}
	return Result{}, true
}

// growth returns how many bytes of data the update adds to the existing bytes.
func (c *StoreUpdate) growth(set *records.Set) int64 {
	n := -set.Bytes(c.Deletes)
	for i := range c.Adds {
		n += int64(len(c.Adds[i].Data)) + c.Adds[i].Blob.Len()
	}
	for i := range c.Changes {
		x := &c.Changes[i]
		n += int64(len(x.Data)) + x.Blob.Len() - set.Bytes([]uint64{x.ID})
	}
	return n
}

// wrongData says what is wrong with the two forms of a record's data, or "".
func wrongData(data string, p *Payload) string {
	b := p.Blobs
	switch {
	case p.Encoding == None && b == nil && len(p.Data) == 0:
		return ""
	case p.Encoding != Bytes || b == nil || b.Content == "" || len(b.Named) > 0 || data != "":
		return "a record has data, or a blob of bytes that names no others"
	}
	return p.wrong()
}

// check refuses an update that the namespace does not take, or that no state could allow.
func (c *StoreUpdate) check(m *Machine) Result {
	if r, ok := m.accepting(c.Namespace); !ok {
		return r
	}
	parts := len(c.Adds) + len(c.Changes) + len(c.Deletes)
	switch {
	case parts == 0:
		return invalid("update", "it adds, changes and deletes nothing")
	case parts+len(c.Depends) > MaxStoreParts:
		return invalid("update", "too many parts")
	}
	for i := range c.Adds {
		if c.Adds[i].Group == "" {
			return invalid("adds", "a record needs a group")
		}
		if what := wrongData(c.Adds[i].Data, &c.Adds[i].Blob); what != "" {
			return invalid("adds", what)
		}
	}
	seen := make(records.Seen, len(c.Changes)+len(c.Deletes))
	for i := range c.Changes {
		if seen.Twice(c.Changes[i].ID) {
			return invalid("updates", "an ID stands twice in updates and deletes")
		}
		if what := wrongData(c.Changes[i].Data, &c.Changes[i].Blob); what != "" {
			return invalid("updates", what)
		}
	}
	if slices.ContainsFunc(c.Deletes, seen.Twice) {
		return invalid("deletes", "an ID stands twice in updates and deletes")
	}
	return Result{}
}

// apply takes the k-th of the group's n available records by ID, where k is Seed mod n. The choice depends only on the
// command, the records and the time. So a machine that was restored from a snapshot takes the same record.
func (c StoreClaim) apply(m *Machine) Result {
	if r, ok := m.accepting(c.Namespace); !ok {
		return r
	}
	switch {
	case c.Group == "":
		return invalid("group", "is required")
	case len(c.Depends) > MaxStoreParts:
		return invalid("depends", "too many")
	}
	set := m.records[c.Namespace]
	if missing := set.Missing(c.Depends); len(missing) > 0 {
		return (&StoreRefusal{Depends: missing}).result()
	}
	if set == nil {
		return Result{}
	}
	n := set.Available(c.Group, int64(m.now))
	if n == 0 {
		return Result{}
	}
	old := m.dropRecord(c.Namespace, set.Pick(c.Group, int(c.Seed%uint64(n))).ID)
	return Result{Records: []*StoreRecord{m.addRecord(StoreRecord{
		Namespace: c.Namespace, Group: old.Group, Owner: c.Client, Available: later(m.now, max(c.Duration, 0)), Data: old.Data, Blob: old.Blob,
	}, &old.Blob)}}
}

func (no *StoreRefusal) result() Result {
	return Result{Code: StoreConflict, Message: "records are missing, or owned by another client", Refusal: no}
}

func noNamespace() Result {
	return Result{Code: NamespaceNotFound, Field: "namespace", Message: "no namespace has this name"}
}

// availableAt resolves the time of an add or a change.
func (m *Machine) availableAt(t Time) Time {
	if t > 0 {
		return t
	}
	return later(m.now, Millis(-max(t, math.MinInt64+1)))
}
