package task

// Txn changes several tasks of one namespace, all or nothing (SPEC X1).
type Txn struct {
	Namespace string      `cbor:"1,keyasint"`
	Depends   []TxnDepend `cbor:"2,keyasint,omitempty"`
	Submits   []Submit    `cbor:"3,keyasint,omitempty"` // their Namespace is ignored
	Updates   []TxnUpdate `cbor:"4,keyasint,omitempty"`
	Finishes  []Finish    `cbor:"5,keyasint,omitempty"` // their Key.Namespace is ignored
	Deletes   []TxnDelete `cbor:"6,keyasint,omitempty"`
}

// MaxTxnParts bounds the parts of a Txn, depends included (SPEC X1).
const MaxTxnParts = 1_000

// TxnDepend must hold for the transaction to happen: the task exists, and has this rev, or this current token.
type TxnDepend struct {
	ID    string `cbor:"1,keyasint"`
	Rev   uint64 `cbor:"2,keyasint,omitempty"`
	Token uint64 `cbor:"3,keyasint,omitempty"`
}

// TxnUpdate changes a task that is not running. Nil fields stay.
type TxnUpdate struct {
	ID             string   `cbor:"1,keyasint"`
	Rev            uint64   `cbor:"2,keyasint,omitempty"` // 0: any
	NotBefore      *Time    `cbor:"3,keyasint,omitempty"` // of a waiting task
	Delay          *Millis  `cbor:"4,keyasint,omitempty"` // instead: from now
	Deadline       *Time    `cbor:"5,keyasint,omitempty"` // 0: none
	Priority       *int8    `cbor:"6,keyasint,omitempty"`
	Labels         []Label  `cbor:"7,keyasint,omitempty"`
	HasLabels      bool     `cbor:"8,keyasint,omitempty"`
	Params         *Payload `cbor:"9,keyasint,omitempty"` // of a waiting task
	ConcurrencyKey string   `cbor:"10,keyasint,omitempty"`
	BehaviorRev    uint64   `cbor:"11,keyasint,omitempty"` // with Params: as in Submit
}

// TxnDelete removes a task that is not running.
type TxnDelete struct {
	ID  string `cbor:"1,keyasint"`
	Rev uint64 `cbor:"2,keyasint,omitempty"` // 0: any
}

func (c Txn) apply(m *Machine) Result { return invalid("txn", "not yet") }
