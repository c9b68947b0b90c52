package task

import (
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/jobs"
)

// Job is a bulk job (SPEC Q3), in the head of a snapshot, too.
type Job = jobs.Job

// StartJob starts a bulk job: an action on all tasks of a namespace that a filter selects (SPEC Q3). Nothing is changed before the leader has selected
// them (SelectJob), and then a few at a time (StepJob), under the rights of the command's caller. Result.Count is the job's number.
type StartJob struct {
	Namespace string `cbor:"1,keyasint"`
	Action    uint64 `cbor:"2,keyasint"` // a jobs.Action
	Spec      []byte `cbor:"3,keyasint"` // JSON of a match.Spec
	Rate      int64  `cbor:"4,keyasint"` // tasks per second, at most
	Version   string `cbor:"5,keyasint,omitempty"`
	Keep      bool   `cbor:"6,keyasint,omitempty"` // the checkpoint
	Delay     Millis `cbor:"7,keyasint,omitempty"`
}

// SelectJob says which tasks a bulk job is about. The leader has selected them from one frozen state.
type SelectJob struct {
	Number uint64   `cbor:"1,keyasint"`
	Index  uint64   `cbor:"2,keyasint"` // of that state
	Count  int64    `cbor:"3,keyasint"`
	Blobs  []string `cbor:"4,keyasint,omitempty"` // their numbers of creation, ascending, jobs.PerBlob in each
}

// StepJob carries out a job's action on its next tasks. Result.Count is the number of these tasks. It is smaller if a quota is used up.
type StepJob struct {
	Number uint64   `cbor:"1,keyasint"`
	From   int64    `cbor:"2,keyasint"` // where the job is
	Tasks  []uint64 `cbor:"3,keyasint"` // their numbers of creation
}

// EndJob ends a bulk job before its time: cancelled by somebody, or failed for a reason.
type EndJob struct {
	Number  uint64 `cbor:"1,keyasint"`
	Code    string `cbor:"2,keyasint,omitempty"` // why it failed; "": it is cancelled
	Message string `cbor:"3,keyasint,omitempty"`
}

func (StartJob) level() uint64  { return MembersLevel }
func (SelectJob) level() uint64 { return MembersLevel }
func (StepJob) level() uint64   { return MembersLevel }
func (EndJob) level() uint64    { return MembersLevel }

func (c StartJob) apply(m *Machine) Result {
	if r, ok := m.writable(c.Namespace); !ok {
		return r
	}
	x := &Job{
		Namespace: c.Namespace, Action: jobs.Action(c.Action), State: jobs.Selecting, Spec: c.Spec, Rate: c.Rate, By: m.caller,
		Version: c.Version, Keep: c.Keep, Delay: int64(c.Delay), Index: m.index, CreatedAt: max(int64(m.now), 1),
	}
	r := putJob(m, x, m.jobs.Start(x))
	r.Count = int64(x.Number)
	return r
}

func (c SelectJob) apply(m *Machine) Result {
	next, no := m.jobs.Select(c.Number, c.Index, m.index, c.Count, c.Blobs, int64(m.now))
	for i := range c.Blobs {
		if next != nil && !m.BlobReady(c.Blobs[i]) {
			return blobGone("blobs", c.Blobs[i])
		}
	}
	return putJob(m, next, no)
}

func (c StepJob) apply(m *Machine) Result {
	x := m.jobs.Of(c.Number)
	if x == nil || x.State != jobs.Acting {
		return refuse(JobMoved, "the job has ended")
	}
	no, ok := m.writable(x.Namespace)
	if ok && x.By != 0 && !m.access.Speaks(x.By, int64(m.now)) {
		no, ok = refuse(TokenRevoked, "the access token of the job's creator was revoked, has expired, or is turned off"), false
	}
	if !ok {
		return putJob(m, x.End(jobs.Failed, string(no.Code), no.Message, int64(m.now)), jobs.Refusal{})
	}
	next, refused := m.jobs.Step(c.Number, c.From, c.Tasks, int64(m.now), func(created uint64) jobs.Outcome { return m.turn(x, created) })
	if next == nil || next.Position == x.Position {
		return putJob(m, nil, refused)
	}
	r := putJob(m, next, refused)
	r.Count = next.Position - x.Position
	return r
}

func (c EndJob) apply(m *Machine) Result {
	next, no := m.jobs.End(c.Number, c.Code, c.Message, int64(m.now))
	return putJob(m, next, no)
}

// putJob keeps a job with a rev of its own. A new job gets this rev as its number. If x is nil or refused, putJob only answers.
func putJob(m *Machine, x *Job, no jobs.Refusal) Result {
	if no.Field != "" {
		return invalid(no.Field, no.Why)
	} else if x == nil || no.Code != "" {
		return refuse(Code(no.Code), no.Why)
	}
	m.rev++
	if x.Rev = m.rev; x.Number == 0 {
		x.Number = m.rev
	}
	if was := m.jobs.Of(x.Number); was != nil && len(was.Blobs) != len(x.Blobs) {
		m.countPayload(-1, blobsOf(was))
		m.countPayload(1, blobsOf(x))
		m.refer(blobsOf(was), blobsOf(x))
	}
	m.jobs.Put(x)
	m.emit(Event{Kind: JobChanged, Job: m.jobs.Of(x.Number)})
	return Result{Changed: true}
}

// blobsOf returns the blobs that a job needs.
func blobsOf(x *Job) *Payload { return &Payload{Blobs: &Blobs{Named: x.Blobs}} }

// turn carries out a job's action on one task.
func (m *Machine) turn(x *Job, created uint64) jobs.Outcome {
	t := NumberedTask(m, created)
	switch {
	case t == nil || t.Namespace != x.Namespace:
		return jobs.WasGone
	case !Matches(t, x.Filter()):
		return jobs.WasChanged
	}
	if s := m.access.Asked(x.By); x.By != 0 {
		if s.Record(access.Operate, t.Namespace, t.Behavior, t.Creator); s.Refusal().Code != "" {
			return jobs.WasForbidden
		}
	}
	var c Command = Remove{Key: t.Key()}
	switch x.Action {
	case jobs.Cancel:
		c = Cancel{Key: t.Key()}
	case jobs.Retry:
		c = RetryTask{Key: t.Key(), Delay: Millis(x.Delay), Version: x.Version, KeepCheckpoint: x.Keep}
	case jobs.Resubmit:
		c = Submit{Namespace: t.Namespace, ID: t.ID, IfExists: Resubmit, Existing: true, Delay: Millis(x.Delay), Priority: t.Priority}
	}
	switch r := c.apply(m); r.Code {
	case OK:
		return jobs.Did
	case QuotaExceeded:
		return jobs.Later
	}
	return jobs.WasRefused
}

// Jobs returns the bulk jobs, the oldest first.
func Jobs(m *Machine) []*Job { return m.jobs.All() }
