package task

import "github.com/taskrt/taskrt/task/hash"

// The running digest (SPEC C4). Machine.sum adds up, modulo 2^64, a hash of every record's content. A write adds the hash of the new content. It
// subtracts the hash of the content that it finds in memory. So if a record was damaged in memory, its next write makes the sum differ from the sums
// of the other replicas. Around each entry Apply folds in the sum, the clocks, the counters and the answers. The encoded form is not hashed: encoding
// costs ten times as much, and a new version may encode the same record differently.

// hasher hashes records.
type hasher struct{ hash.Hash }

// newHasher starts a hash of a thing of the given kind.
func newHasher(kind uint64) hasher { return hasher{hash.New(kind)} }

// Most of what hashes a record is written from the tags of its struct: digest_gen.go.

// blob mixes in the data of a StoreRecord that is a blob. All other records keep the hashes that they had before there were blobs.
func (h *hasher) blob(p *Payload) {
	if p.Blobs != nil {
		h.payload(p)
	}
}

// hashTask hashes which fields of t are not zero, and then these fields. A test walks the fields by reflection.
func hashTask(t *Task) uint64 {
	h := newHasher(hash.OfTask)
	h.Str(t.Namespace)
	h.Str(t.ID)
	h.Str(t.Behavior)
	has := fieldsOf(t)
	h.Word(has<<16 | uint64(t.Status)<<8 | uint64(uint8(t.Priority)))
	h.Word(t.Rev)
	h.Word(t.CreatedRev)
	h.Int(int64(t.CreatedAt))
	h.fields(t, has)
	return h.Sum()
}

// hashAnswer hashes an answer that is kept for a process or under a client's key: owner is the process or the hash of the key. taskHash is
// hashTask(r.Task), which the caller often knows already, or 0 without a task.
func hashAnswer(owner, seq uint64, r *Result, taskHash uint64) uint64 {
	h := newHasher(hash.OfAnswer)
	h.Word(owner)
	h.Word(seq)
	h.result(r, taskHash)
	return h.Sum()
}

// hashFinish identifies a finish that is sent again (SPEC L3). It is never 0. The same outcome of the same lease is the same finish, whatever its
// number, its latest progress and what the attempt used.
func hashFinish(c *Finish) uint64 {
	h := newHasher(hash.OfFinish)
	h.Word(c.Token)
	h.payload(&c.Result)
	h.error(c.Error)
	h.Int(int64(c.Again))
	return max(h.Sum(), 1)
}

// answered folds one answer into the entry's hash. So replicas that decided differently differ, even if they wrote nothing.
func (h *hasher) answered(r *Result) {
	h.Str(string(r.Code))
	h.Word(uint64(r.Outcome))
	h.Bool(r.Told)
	h.Bool(r.Repeated)
	h.Bool(r.Changed)
	if r.Task != nil {
		h.Word(r.Task.Rev)
	}
	for _, t := range r.Tasks {
		h.Word(t.Rev)
	}
	h.Word(uint64(len(r.Reasons)))
	for _, x := range r.Records {
		h.Word(x.ID)
	}
	h.Bool(r.Refusal != nil)
	if r.Operation != nil {
		h.Word(r.Operation.Rev)
	}
	if r.Space != nil {
		h.Word(r.Space.Rev)
	}
	h.Int(r.Count)
	h.Int(r.Left)
}

// hashOperation hashes every field of o in two parts, so that fields that never change are not hashed again.
func hashOperation(o *Operation) uint64 { return hashOperationStart(o) + hashOperationState(o) }

// hashOperationStart hashes the fields that an operation begins with and keeps. There may be a hundred thousand names of partitions.
func hashOperationStart(o *Operation) uint64 {
	h := newHasher(hash.OfOperation)
	h.operation(o)
	return h.Sum()
}

// hashOperationState hashes the fields that change.
func hashOperationState(o *Operation) uint64 {
	h := newHasher(hash.OfOperationState)
	h.Word(o.CreatedRev)
	h.operationState(o)
	return h.Sum()
}
