package task

import "github.com/taskrt/taskrt/task/blobs"

// These need blobs (SPEC M3): params, result and checkpoint of every task, argument and result of every operation, the
// data of records, and every module. The counts are derived and exact. A blob whose count is 0 can go.

// payloads returns the payloads of an operation that may need blobs.
func (o *Operation) payloads() [2]*Payload { return [...]*Payload{&o.Arg, &o.Result} }

// countBlobs counts the blobs that the payloads need: by is 1 when their record comes, and -1 when it goes.
func (m *Machine) countBlobs(by int64, payloads [3]*Payload) {
	for _, p := range payloads[:] { // not a copy of the array
		if p.Blobs != nil {
			m.countPayload(by, p)
		}
	}
}

// countPayload counts the blobs that p needs. Their rows are there: no command refers to a blob that is not there, or drops one that is needed.
func (m *Machine) countPayload(by int64, p *Payload) {
	for s := range p.Digests() {
		d, _ := blobs.Parse(s)
		m.blobs.Refer(d, by)
	}
}

// countOperationBlobs counts the blobs that an operation needs: by is 1 when its record comes, and -1 when it goes.
func (m *Machine) countOperationBlobs(o *Operation, by int64) {
	for _, p := range o.payloads() {
		m.countPayload(by, p)
	}
}

// referTask notes the new references of a task's record. The record replaces prev, which is nil if there was none.
func (m *Machine) referTask(prev, t *Task) {
	if prev == nil {
		prev = &Task{}
	}
	for i, p := range t.payloads() {
		if p.Blobs != nil {
			m.refer(prev.payloads()[i], p)
		}
	}
}

// referOperation notes the new references of an operation's record. The record replaces prev, which is nil if there was none.
func (m *Machine) referOperation(prev, o *Operation) {
	if prev == nil {
		prev = &Operation{}
	}
	for i, p := range o.payloads() {
		m.refer(prev.payloads()[i], p)
	}
}

// refer notes the references of p, which replaces was in a record. A blob with a new reference is as young as a blob
// that was just put. References are compared by their content, so all replicas see the same ones as new.
func (m *Machine) refer(was, p *Payload) {
	if p.Blobs == nil || p.sameBlobs(was) {
		return
	}
	for s := range p.Digests() {
		d, _ := blobs.Parse(s)
		m.blobs.Refresh(d, int64(m.now))
	}
}

// payloadSize returns what p counts in quotas: its bytes, and the bytes of the blobs that it needs.
func (m *Machine) payloadSize(p *Payload) int64 {
	n := int64(len(p.Data))
	for s := range p.Digests() {
		n += m.blobSize(s)
	}
	return n
}

// blobSize returns the size of a blob, 0 if it is not there. It does not change while a record needs the blob.
func (m *Machine) blobSize(s string) int64 {
	if r := m.blobs.Find(s); r != nil {
		return r.Size
	}
	return 0
}
