package task

import "github.com/taskrt/taskrt/task/holds"

// Hold is a hold on blobs, in the head of a snapshot.
type Hold = holds.Hold

// HoldBlobs makes a hold for a backup, renews one, or ends one (SPEC C8). While a hold lives DropBlobs drops nothing. A renewal, and an end, are
// refused with halt if the hold is over: blobs may be gone.
type HoldBlobs struct {
	ID     string `cbor:"1,keyasint"`
	Holder string `cbor:"2,keyasint,omitempty"`
	TTL    Millis `cbor:"3,keyasint,omitempty"` // by the lease clock; 0: it ends now
	Renew  bool   `cbor:"4,keyasint,omitempty"` // only if it lives
}

func (HoldBlobs) level() uint64 { return MembersLevel }

func (c HoldBlobs) apply(m *Machine) Result {
	ask := Hold{ID: c.ID, Holder: c.Holder, TTL: int64(c.TTL)}
	switch field, why, over := m.blobs.Holds.Carry(ask, c.Renew, int64(m.leaseNow)); {
	case field != "":
		return invalid(field, why)
	case over:
		return halt()
	}
	return Result{Changed: true}
}

// Holds returns the holds that live, by ID.
func Holds(m *Machine) []Hold { return m.blobs.Holds.All() }
