package task

import "slices"

// OpenSession starts a session (SPEC L2, L6). If a session of the same Worker is alive and Proof equals its proof, it
// ends at once and its runs are lost. With another Proof the answer is worker_in_use.
//
// The proof says that no guest of the live session executes any more. That holds only for a command that was made after
// the session was opened. An older command may still be on its way, for example in the buffer of a connection that the
// worker has given up. It would end the session that its own sender works in. Hello tells the two apart.
type OpenSession struct {
	Worker string `cbor:"1,keyasint"`
	Node   string `cbor:"2,keyasint,omitempty"`
	Slots  int64  `cbor:"3,keyasint"` // leases at a time
	TTL    Millis `cbor:"4,keyasint"`
	Proof  []byte `cbor:"5,keyasint"`
	Hello  uint64 `cbor:"6,keyasint,omitempty"` // rises with every opening that the holder of Proof asks for; 0: unknown
	Runs   int64  `cbor:"7,keyasint,omitempty"` // attempts that execute at a time, for people; 0: as many as Slots

	// Alone says that the worker's process runs one attempt and nothing else, for suspects only. Isolates says that the
	// process's parent would start such a process (SPEC L5).
	Alone    bool `cbor:"8,keyasint,omitempty"`
	Isolates bool `cbor:"9,keyasint,omitempty"`
}

func (c OpenSession) apply(m *Machine) Result {
	switch {
	case c.Worker == "":
		return invalid("worker", "a worker needs an ID")
	case c.Slots < 0:
		return invalid("slots", "negative")
	case c.Runs < 0:
		return invalid("runs", "negative")
	case c.Alone && c.Slots > 1:
		return invalid("slots", "a session of a process that runs one attempt has one slot")
	case c.TTL <= 0:
		return invalid("ttl", "a session needs a TTL")
	}
	if former := m.workers[c.Worker]; former != nil {
		if !slices.Equal(former.session.Proof, c.Proof) {
			return refuse(WorkerInUse, "a live session of this worker ID exists, and this process has not proved that its holder is dead")
		}
		if c.Hello != 0 && c.Hello <= former.session.Hello {
			return refuse(WorkerInUse, "the worker has opened a session since it said this")
		}
		m.endSessionAs(former, outcomeLost)
	}
	m.sessionID++
	s := &Session{
		ID: m.sessionID, Worker: c.Worker, Node: c.Node, Slots: c.Slots, TTL: c.TTL,
		Expires: later(m.leaseNow, c.TTL), Proof: c.Proof, Hello: c.Hello, Runs: c.Runs,
		Alone: c.Alone, Isolates: c.Isolates,
	}
	m.addSession(s)
	return Result{Session: s}
}
