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

func (h *hasher) payload(p Payload) {
	h.word(uint64(p.Encoding))
	h.bytes(p.Data)
	h.bool(p.Blobs != nil)
	if p.Blobs != nil {
		h.str(p.Blobs.Content)
		h.int(p.Blobs.Size)
		h.strs(p.Blobs.Named)
	}
}

func (h *hasher) strs(ss []string) {
	h.word(uint64(len(ss)))
	for _, s := range ss {
		h.str(s)
	}
}

func (h *hasher) error(e *Error) {
	h.bool(e != nil)
	if e == nil {
		return
	}
	h.str(e.Code)
	h.str(e.Message)
	h.bool(e.Retryable)
	h.payload(e.Details)
}

func (h *hasher) lease(l *Lease) {
	h.bool(l != nil)
	if l == nil {
		return
	}
	h.word(l.Token)
	h.word(l.Session)
	h.word(l.Seq)
	h.str(l.Worker)
	h.str(l.Node)
	h.word(l.Report)
	h.int(int64(l.Given))
	h.int(int64(l.TTL))
	h.int(int64(l.Expires))
	h.str(l.Request)
	h.int(int64(l.GraceEnd))
}

func (h *hasher) history(as []Attempt) {
	h.word(uint64(len(as)))
	for i := range as {
		a := &as[i]
		h.int(a.Number)
		h.word(a.Token)
		h.str(a.Worker)
		h.str(a.Node)
		h.int(int64(a.StartedAt))
		h.int(int64(a.FinishedAt))
		h.str(a.Outcome)
		h.int(a.Fuel)
	}
}

func (h *hasher) labels(labels []Label) {
	h.word(uint64(len(labels)))
	for i := range labels {
		h.str(labels[i].Name)
		h.str(labels[i].Value)
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
	for i, p := range [...]*Payload{&t.Params, &t.Result, &t.Progress, &t.Checkpoint} {
		if has&[...]uint64{hasParams, hasResult, hasProgress, hasCheckpoint}[i] != 0 {
			h.payload(*p)
		}
	}
	if has&hasError != 0 {
		h.error(t.Error)
	}
	for i, at := range [...]Time{t.NotBefore, t.Deadline, t.StartedAt, t.FinishedAt, t.DueSince} {
		if has&[...]uint64{hasNotBefore, hasDeadline, hasStarted, hasFinished, hasDueSince}[i] != 0 {
			h.int(int64(at))
		}
	}
	if has&hasAttempt != 0 {
		h.int(t.Attempt)
		h.int(t.Failures)
		h.int(t.LostCount)
	}
	if has&hasVersion != 0 {
		h.str(t.Version)
	}
	h.running(t)
	h.seldom(t, has)
	return h.sum()
}

// running mixes what only a running task has.
func (h *hasher) running(t *Task) {
	runs := t.Lease != nil || t.Resubmit != 0 || t.CancelCode != ""
	h.bool(runs)
	if runs {
		h.lease(t.Lease)
		h.int(int64(t.Resubmit))
		h.str(t.CancelCode)
	}
}

func (h *hasher) seldom(t *Task, has uint64) {
	if has&hasEnded != 0 {
		h.word(t.Ended.Token)
		h.word(t.Ended.Finish)
		h.word(t.Ended.Session)
	}
	if has&hasHistory != 0 {
		h.history(t.History)
	}
	for i, s := range [...]string{t.Parent, t.Partition, t.ConcurrencyKey} {
		if has&[...]uint64{hasParent, hasPartition, hasConcurrencyKey}[i] != 0 {
			h.str(s)
		}
	}
	if has&hasLabels != 0 {
		h.labels(t.Labels)
	}
	if has&hasRole != 0 {
		h.word(uint64(t.Role))
		h.word(t.Bound)
	}
}

func (h *hasher) policy(p *Policy) {
	h.int(int64(p.Index))
	h.str(p.Description)
	h.word(uint64(p.IDStrategy))
	h.word(uint64(len(p.IDFrom)))
	for _, s := range p.IDFrom {
		h.str(s)
	}
	h.int(p.Retry.MaxAttempts)
	h.int(int64(p.Retry.InitialInterval))
	h.int(p.Retry.MultiplierThousandth)
	h.int(int64(p.Retry.MaxInterval))
	h.int(p.Retry.JitterPercent)
	h.int(int64(p.RunTimeout))
	h.int(int64(p.HeartbeatTimeout))
	h.int(int64(p.CancelGrace))
	h.int(p.Limits.MemoryBytes)
	h.int(p.Limits.Fuel)
	h.int(p.Limits.ParamsBytes)
	h.int(p.Limits.ResultBytes)
	h.int(p.Limits.CheckpointBytes)
	h.int(p.Limits.LogBytes)
	h.word(uint64(p.OnTrap))
	h.word(uint64(p.OnTimeout))
	h.word(uint64(p.OnExhausted))
	h.bool(p.ResultRequired)
	h.int(p.MaxLost)
	h.int(int64(p.KeepSuccess))
	h.int(int64(p.KeepFailure))
	h.bytes(p.ParamsSchema)
	h.bytes(p.ResultSchema)
	h.int(int64(p.RepeatEvery))
	h.bool(p.RepeatAny)
	h.int(p.MaxConcurrent)
	h.str(p.ConcurrencyKey)
	h.int(p.MaxPerKey)
	h.bool(p.KeyStrict)
	h.int(int64(p.Lease))
	h.bool(p.Operation != nil)
	if p.Operation != nil {
		h.operationPolicy(p.Operation)
	}
	h.int(p.KeepCount)
}

func hashBehavior(b *Behavior) uint64 {
	h := newHasher(hashedBehavior)
	h.str(b.Namespace)
	h.str(b.Name)
	h.str(b.Active)
	h.word(uint64(len(b.Versions)))
	for i := range b.Versions {
		v := &b.Versions[i]
		h.str(v.Version)
		h.str(v.Module)
		h.policy(&v.Policy)
		h.int(int64(v.ActivatedAt))
	}
	h.word(b.Rev)
	h.bool(b.External)
	h.bool(b.Paused)
	h.bool(b.Deleted)
	h.bool(b.Purge)
	return h.sum()
}

func hashModule(x *Module) uint64 {
	h := newHasher(hashedModule)
	h.str(x.Digest)
	h.int(x.Size)
	h.bytes(x.Manifest)
	h.str(x.Version)
	return h.sum()
}

func hashStoreRecord(x *StoreRecord) uint64 {
	h := newHasher(hashedStoreRecord)
	h.word(x.ID)
	h.str(x.Namespace)
	h.str(x.Group)
	h.int(x.Owner)
	h.int(int64(x.Available))
	h.str(x.Data)
	if x.Blob.Blobs != nil {
		h.payload(x.Blob)
	}
	return h.sum()
}

func hashSession(s *Session) uint64 {
	h := newHasher(hashedSession)
	h.word(s.ID)
	h.str(s.Worker)
	h.str(s.Node)
	h.int(s.Slots)
	h.int(int64(s.TTL))
	h.int(int64(s.Expires))
	h.bytes(s.Proof)
	h.word(s.Seq)
	h.word(s.Acked)
	h.word(s.Hello)
	h.int(s.Runs)
	h.bool(s.Alone)
	h.bool(s.Isolates)
	return h.sum()
}

func hashNamespace(n *Namespace) uint64 {
	h := newHasher(hashedNamespace)
	h.str(n.Name)
	h.word(uint64(n.Status))
	h.int(n.Quota.MaxTasks)
	h.int(n.Quota.MaxBytes)
	h.int(n.Quota.SubmitsPerSecond)
	h.int(int64(n.Retention.Success))
	h.int(int64(n.Retention.Failure))
	h.int(n.Retention.Count)
	h.word(n.Rev)
	h.int(int64(n.CreatedAt))
	h.int(int64(n.ChangedAt))
	h.int(n.Bucket)
	h.int(int64(n.BucketAt))
	h.int(n.Weight)
	h.int(n.MaxRunning)
	return h.sum()
}

func hashBlob(b *Blob) uint64 {
	h := newHasher(hashedBlob)
	h.str(b.Digest)
	h.int(b.Size)
	h.bool(b.Ready)
	h.int(int64(b.Noted))
	h.word(b.Made)
	return h.sum()
}

func hashRun(r *MaintenanceRun) uint64 {
	h := newHasher(hashedRun)
	h.int(r.Run)
	h.word(r.Token)
	h.str(r.Worker)
	h.bool(r.DryRun)
	h.int(int64(r.StartedAt))
	h.int(int64(r.FinishedAt))
	h.bool(r.Success)
	h.str(r.Message)
	h.int(int64(r.Before))
	h.word(uint64(len(r.Objects)))
	for i := range r.Objects {
		o := &r.Objects[i]
		h.str(o.Kind)
		h.str(o.Namespace)
		h.int(o.Scanned)
		h.int(o.Retained)
		h.int(o.Newer)
		h.int(o.Deleted)
	}
	h.int(r.Filter.Items)
	h.int(r.Filter.Bits)
	h.int(r.Filter.Hashes)
	h.int(r.Filter.PPB)
	h.str(r.Ended)
	h.int(r.By)
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
	h.str(string(r.Code))
	h.str(r.Message)
	h.str(r.Field)
	h.bool(r.Task != nil)
	h.word(taskHash)
	h.word(uint64(r.Outcome))
	h.bool(r.Told)
	h.bool(r.Repeated)
	h.bool(r.Session != nil)
	if r.Session != nil {
		h.word(hashSession(r.Session))
	}
	h.bool(r.Behavior != nil)
	if r.Behavior != nil {
		h.word(hashBehavior(r.Behavior))
	}
	h.bool(r.Changed)
	h.word(r.Index)
	h.word(uint64(len(r.Tasks)))
	for _, t := range r.Tasks {
		h.bool(t != nil)
		if t != nil {
			h.word(hashTask(t))
		}
	}
	h.word(uint64(len(r.Reasons)))
	for i := range r.Reasons {
		h.str(r.Reasons[i].Kind)
		h.str(r.Reasons[i].ID)
	}
	h.word(uint64(len(r.Records)))
	for _, x := range r.Records {
		h.bool(x != nil)
		if x != nil {
			h.word(hashStoreRecord(x))
		}
	}
	h.bool(r.Refusal != nil)
	if r.Refusal != nil {
		for _, ids := range [...][]uint64{r.Refusal.Changes, r.Refusal.Deletes, r.Refusal.Depends, r.Refusal.Owned} {
			h.word(uint64(len(ids)))
			for _, id := range ids {
				h.word(id)
			}
		}
	}
	h.bool(r.Operation != nil)
	if r.Operation != nil {
		h.word(hashOperation(r.Operation))
	}
	h.bool(r.Space != nil)
	if r.Space != nil {
		h.word(hashNamespace(r.Space))
	}
	h.int(r.Count)
	h.int(r.Left)
	return h.sum()
}

// hashFinish identifies a finish, so that the same one sent again is known (SPEC L3). Never 0. The report's number and
// the fuel are left out: the same outcome of the same lease is the same finish.
func hashFinish(c *Finish) uint64 {
	h := newHasher(hashedFinish)
	h.word(c.Token)
	h.payload(c.Result)
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
