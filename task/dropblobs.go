package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/blobs"
	"github.com/taskrt/taskrt/task/upkeep"
)

// DropBlobs deletes blobs for a maintenance run (SPEC M3), at most MaxDrop. It is refused as a whole if the run's token is dead. It leaves alone a
// blob that a record needs at this index, and a blob whose last upload or reference is not older than Before. A digest that the log does not know
// counts as dropped, because the file is a leftover. Result.Count says how many were dropped. While a hold for a backup lives nothing is dropped,
// and Result.Left says how many were asked for (SPEC C8).
type DropBlobs struct {
	Token   uint64   `cbor:"1,keyasint"`
	Before  Time     `cbor:"2,keyasint"`
	Digests []string `cbor:"3,keyasint"`
}

// MaxDrop bounds how much one command of a maintenance run deletes.
const MaxDrop = 1_000

func (c DropBlobs) apply(m *Machine) Result {
	if !m.maintenanceRun(c.Token) {
		return halt()
	}
	if len(c.Digests) > MaxDrop {
		return invalid("digests", "a run deletes at most 1000 blobs at a time")
	}
	for _, s := range c.Digests {
		if !blobs.ValidDigest(s) {
			return invalid("digests", "a digest is 64 characters of 0-9 a-f")
		}
	}
	if m.blobs.Holds.Len() > 0 {
		return Result{Left: int64(len(c.Digests))}
	}
	var dropped []string
	for _, s := range slices.Compact(slices.Sorted(slices.Values(c.Digests))) {
		if m.dropBlob(s, c.Before) {
			dropped = append(dropped, s)
		}
	}
	m.runs.Tally(c.Token, upkeep.OfBlob, "", int64(len(dropped)))
	if dropped != nil {
		m.emit(Event{Kind: BlobsDropped, Digests: dropped})
	}
	return Result{Count: int64(len(dropped)), Changed: dropped != nil}
}

// dropBlob deletes the record of a blob that nobody needs and that is older than before, and reports whether its file may go. The file of a module
// may have no record, because some logs are older than records of blobs.
func (m *Machine) dropBlob(s string, before Time) bool {
	d, _ := blobs.Parse(s)
	r := m.blobs.Get(d)
	if r == nil {
		return m.modules[s] == nil
	}
	if r.Refs > 0 || r.Noted >= int64(before) {
		return false
	}
	m.blobs.Remove(d)
	return true
}
