package task

import "github.com/taskrt/taskrt/task/hash"

// The running digest (SPEC C4). Machine.sum is the sum, modulo 2^64, of a hash of every record's content; a write adds the hash of the new content
// and takes away the hash of the content found in memory, computed then: a record that was damaged in memory since its last write makes the sum
// differ from the other replicas' from that write on. After each entry chain folds in the sum, the clocks, the counters and what was answered. The
// encoded form is not used: encoding costs ten times as much, and a new version may encode the same record differently.

// hasher hashes records.
type hasher struct{ hash.Hash }

// newHasher starts a hash of a thing of the given kind.
func newHasher(kind uint64) hasher { return hasher{hash.New(kind)} }

// Most of what hashes a record is written from the tags of its struct: digest_gen.go.

// blob mixes the data of a StoreRecord only if it is a blob: there were records before there were blobs.
func (h *hasher) blob(p *Payload) {
	if p.Blobs != nil {
		h.payload(p)
	}
}

// hashTask hashes every field of t that is not zero, and first which ones these are; a test walks the fields by reflection.
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

// hashAnswer hashes a kept answer of a process, or under the hash of a client's key. taskHash is hashTask(r.Task), or 0
// without a task: the caller often knows it.
func hashAnswer(owner, seq uint64, r *Result, taskHash uint64) uint64 {
	h := newHasher(hash.OfAnswer)
	h.Word(owner)
	h.Word(seq)
	h.result(r, taskHash)
	return h.Sum()
}

// hashFinish identifies a finish, so that the same one sent again is known (SPEC L3). Never 0. The report's number and
// the fuel are left out: the same outcome of the same lease is the same finish.
func hashFinish(c *Finish) uint64 {
	h := newHasher(hash.OfFinish)
	h.Word(c.Token)
	h.payload(&c.Result)
	h.error(c.Error)
	h.Int(int64(c.Again))
	return max(h.Sum(), 1)
}

// answered folds into the entry's hash what one command was answered: enough to tell replicas apart that decided differently and wrote nothing.
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
