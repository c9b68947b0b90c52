package task

// The running digest (SPEC C4). Machine.sum is the sum, modulo 2^64, of a hash of every record's content; a write adds
// the hash of the new content and takes away the hash of the content found in memory, computed then: a record that was
// damaged in memory since its last write makes the sum differ from the other replicas' from that write on. After each
// entry chain folds in the sum, the clocks, the counters and what was answered. The encoded form is not used: encoding
// costs ten times as much, and a new version may encode the same record differently.

// Kinds of hashed things. Part of the replicated contract.
const (
	hashedTask uint64 = iota + 1
	hashedBehavior
	hashedModule
	hashedSession
	hashedProcess
	hashedAnswer
	hashedEntry
	hashedFinish
	hashedStoreRecord
	hashedDrained
	hashedClientKey
	hashedNamespace
	hashedOperation
	hashedInstance
	hashedBlob
	hashedRun
	hashedOperationState
)

// Most of what hashes a record is written from the tags of its struct: digest_gen.go.

func (h *hasher) strs(ss []string) {
	h.word(uint64(len(ss)))
	for _, s := range ss {
		h.str(s)
	}
}

func (h *hasher) words(xs []uint64) {
	h.word(uint64(len(xs)))
	for _, x := range xs {
		h.word(x)
	}
}

// blob mixes the data of a StoreRecord only if it is a blob: there were records before there were blobs.
func (h *hasher) blob(p *Payload) {
	if p.Blobs != nil {
		h.payload(p)
	}
}

// hashTask hashes every field of t; a test walks the fields by reflection. Which fields are not zero comes first, and of
// the others nothing: a task that waits has few.
func hashTask(t *Task) uint64 {
	h := newHasher(hashedTask)
	h.str(t.Namespace)
	h.str(t.ID)
	h.str(t.Behavior)
	has := fieldsOf(t)
	h.word(has<<16 | uint64(t.Status)<<8 | uint64(uint8(t.Priority)))
	h.word(t.Rev)
	h.word(t.CreatedRev)
	h.int(int64(t.CreatedAt))
	h.fields(t, has)
	return h.sum()
}

func hashDrained(node string) uint64 {
	h := newHasher(hashedDrained)
	h.str(node)
	return h.sum()
}

func hashProcess(process, lowest uint64, used LeaseTime) uint64 {
	h := newHasher(hashedProcess)
	h.word(process)
	h.word(lowest)
	h.int(int64(used))
	return h.sum()
}

func hashClientKey(id, body uint64, first LeaseTime) uint64 {
	h := newHasher(hashedClientKey)
	h.word(id)
	h.word(body)
	h.int(int64(first))
	return h.sum()
}

// hashAnswer hashes a kept answer of a process, or under the hash of a client's key. taskHash is hashTask(r.Task), or 0 without a task: the caller often knows it.
func hashAnswer(owner, seq uint64, r *Result, taskHash uint64) uint64 {
	h := newHasher(hashedAnswer)
	h.word(owner)
	h.word(seq)
	h.result(r, taskHash)
	return h.sum()
}

// hashFinish identifies a finish, so that the same one sent again is known (SPEC L3). Never 0. The report's number and
// the fuel are left out: the same outcome of the same lease is the same finish.
func hashFinish(c *Finish) uint64 {
	h := newHasher(hashedFinish)
	h.word(c.Token)
	h.payload(&c.Result)
	h.error(c.Error)
	h.int(int64(c.Again))
	return max(h.sum(), 1)
}

// answered folds into the entry's hash what one command was answered: enough to tell replicas apart that decided
// differently, even where the decision wrote nothing.
func (h *hasher) answered(r *Result) {
	h.str(string(r.Code))
	h.word(uint64(r.Outcome))
	h.bool(r.Told)
	h.bool(r.Repeated)
	h.bool(r.Changed)
	if r.Task != nil {
		h.word(r.Task.Rev)
	}
	for _, t := range r.Tasks {
		h.word(t.Rev)
	}
	h.word(uint64(len(r.Reasons)))
	for _, x := range r.Records {
		h.word(x.ID)
	}
	h.bool(r.Refusal != nil)
	if r.Operation != nil {
		h.word(r.Operation.Rev)
	}
	if r.Space != nil {
		h.word(r.Space.Rev)
	}
	h.int(r.Count)
	h.int(r.Left)
}
