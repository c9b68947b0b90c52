package task

// StoreRecord is one record of the TaskStore API: a plain coordination task in a free-form group, beside the tasks and
// invisible to them (SPEC X2). It is immutable: a change makes a new one with a new ID, which is a rev.
type StoreRecord struct {
	ID        uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Group     string `cbor:"3,keyasint"`
	Owner     int64  `cbor:"4,keyasint,omitempty"`
	Available Time   `cbor:"5,keyasint,omitempty"` // it may be claimed, or changed by anybody, from then on
	Data      string `cbor:"6,keyasint,omitempty"`
}

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

// StoreAdd is a new record; the caller becomes its owner.
type StoreAdd struct {
	Group     string `cbor:"1,keyasint"`
	Data      string `cbor:"2,keyasint,omitempty"`
	Available Time   `cbor:"3,keyasint,omitempty"` // 0: now; negative: now plus its absolute value
}

// StoreChange replaces a record; its group stays.
type StoreChange struct {
	ID        uint64 `cbor:"1,keyasint"`
	Data      string `cbor:"2,keyasint,omitempty"`
	Available Time   `cbor:"3,keyasint,omitempty"` // as in StoreAdd
}

// StoreClaim takes a random available record of a group for the client (SPEC X2 `/claim`).
type StoreClaim struct {
	Namespace string   `cbor:"1,keyasint"`
	Client    int64    `cbor:"2,keyasint"`
	Group     string   `cbor:"3,keyasint"`
	Duration  Millis   `cbor:"4,keyasint,omitempty"` // negative counts as 0
	Depends   []uint64 `cbor:"5,keyasint,omitempty"`
	Seed      uint64   `cbor:"6,keyasint,omitempty"` // drawn by the proposer: which of the available ones
}

// StoreRefusal says why a StoreUpdate or StoreClaim did nothing: IDs that are missing, per list, and IDs that another
// client owns.
type StoreRefusal struct {
	Changes []uint64 `cbor:"1,keyasint,omitempty"`
	Deletes []uint64 `cbor:"2,keyasint,omitempty"`
	Depends []uint64 `cbor:"3,keyasint,omitempty"`
	Owned   []uint64 `cbor:"4,keyasint,omitempty"`
}

func (c StoreUpdate) apply(m *Machine) Result { return invalid("update", "not yet") }

func (c StoreClaim) apply(m *Machine) Result { return invalid("claim", "not yet") }
