package naive

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// How far a job is (Q3).
const (
	selecting = 1
	acting    = 2
	done      = 3
	cancelled = 4
	failed    = 5
)

// What a job does.
const (
	cancels   = 1
	retries   = 2
	resubmits = 3
	removes   = 4
)

func (m *Model) job(number uint64) *task.Job {
	for _, x := range m.Jobs {
		if x.Number == number {
			return x
		}
	}
	return nil
}

func (m *Model) startJob(c task.StartJob, got task.Result) task.Result {
	var no []task.Code
	if code := m.writable(c.Namespace); code != task.OK {
		no = append(no, code)
	}
	_, filter := filterOf(c.Spec)
	if !filter || c.Action < cancels || c.Action > removes || c.Rate < 1 || c.Rate > 100_000 || c.Delay < 0 ||
		c.Delay > 0 && c.Action != retries && c.Action != resubmits || (c.Version != "" || c.Keep) && c.Action != retries {
		no = append(no, task.InvalidCommand)
	}
	n := 0
	for _, x := range m.Jobs {
		if x.State < done {
			n++
		}
	}
	if n >= 4 {
		no = append(no, task.TooManyJobs)
	}
	if len(no) > 0 {
		return oneOf(got, no...)
	}
	x := &task.Job{
		Namespace: c.Namespace, State: selecting, Spec: c.Spec, Rate: c.Rate, By: m.caller, Version: c.Version, Keep: c.Keep,
		Delay: int64(c.Delay), Index: m.index, CreatedAt: int64(m.Now),
	}
	assign(&x.Action, c.Action)
	x.Number = m.Fresh(uint64(got.Count))
	x.Rev = x.Number
	m.Jobs = append(m.Jobs, x)
	return task.Result{Count: int64(x.Number), Changed: true}
}

func (m *Model) selectJob(c task.SelectJob, got task.Result) task.Result {
	x := m.job(c.Number)
	if x == nil || x.State != selecting {
		return task.Result{Code: task.JobMoved}
	}
	var no []task.Code
	if c.Count < 0 || c.Count > 10_000_000 || int64(len(c.Blobs)) != (c.Count+1<<20-1)/(1<<20) || c.Index < x.Index || c.Index >= m.index {
		no = append(no, task.InvalidCommand)
	}
	needed := task.Payload{Blobs: &task.Blobs{Named: c.Blobs}}
	if code := m.admit(needed); code != task.OK {
		no = append(no, code)
	}
	if len(no) > 0 {
		return oneOf(got, no...)
	}
	x.Rev, x.State, x.Selected, x.SelectedAt, x.Blobs = 0, acting, c.Count, c.Index, c.Blobs
	if m.refresh(task.Payload{}, needed); c.Count == 0 {
		m.ended(x, done, "", "")
	}
	return task.Result{Changed: true}
}

// ended ends a job. Of the jobs that have ended, the 50 that ended last are kept.
func (m *Model) ended(x *task.Job, state uint64, code task.Code, message string) task.Result {
	assign(&x.State, state)
	x.Rev, x.EndedAt, x.Code, x.Message, x.Blobs = 0, int64(m.Now), string(code), message, nil
	if m.endedJobs = append(m.endedJobs, x); len(m.endedJobs) > 50 {
		oldest := m.endedJobs[0]
		m.endedJobs = m.endedJobs[1:]
		m.Jobs = slices.DeleteFunc(m.Jobs, func(x *task.Job) bool { return x == oldest })
	}
	return task.Result{Changed: true}
}

func (m *Model) endJob(c task.EndJob, got task.Result) task.Result {
	x := m.job(c.Number)
	switch long := len(c.Code) > 256 || len(c.Message) > 1024; {
	case long && x == nil:
		return oneOf(got, task.InvalidCommand, task.JobNotFound)
	case long:
		return task.Result{Code: task.InvalidCommand}
	case x == nil:
		return task.Result{Code: task.JobNotFound}
	case x.State >= done:
		return task.Result{}
	case c.Code != "":
		return m.ended(x, failed, task.Code(c.Code), c.Message)
	}
	return m.ended(x, cancelled, "", "")
}

// stepJob lets tasks have their turn, as many as have one now.
func (m *Model) stepJob(c task.StepJob, got task.Result) (r task.Result) {
	x := m.job(c.Number)
	if x == nil || x.State != acting {
		return task.Result{Code: task.JobMoved}
	} else if code := m.writable(x.Namespace); code != task.OK {
		return m.ended(x, failed, code, "")
	} else if x.By == 1 && m.RootOff || x.By > 1 && m.Token(x.By) == nil {
		return m.ended(x, failed, task.TokenRevoked, "")
	}
	var no []task.Code
	if c.From != x.Position {
		no = append(no, task.JobMoved)
	}
	if n := int64(len(c.Tasks)); n == 0 || n > 256 || n > x.Selected-x.Position {
		no = append(no, task.InvalidCommand)
	}
	if len(no) > 0 {
		return oneOf(got, no...)
	}
	for _, created := range c.Tasks {
		to := m.turn(x, created)
		if to == nil {
			break
		}
		*to++
		r.Count++
	}
	if r.Count == 0 {
		return r
	}
	r.Changed, x.Rev = true, 0
	if x.Position += r.Count; x.Position == x.Selected {
		m.ended(x, done, "", "")
	}
	return r
}

// turn does with a task what the job is for, and returns what that counts as; nil: not yet.
func (m *Model) turn(x *task.Job, created uint64) *int64 {
	var t *task.Task
	for _, other := range m.Tasks {
		if other.CreatedRev == created && other.Namespace == x.Namespace {
			t = other
		}
	}
	if t == nil {
		return &x.Counts.Gone
	} else if f, _ := filterOf(x.Spec); !f.means(t) {
		return &x.Counts.Changed
	} else if no, _ := m.judge(x.By, need{role: operate, namespace: t.Namespace, there: true, behavior: t.Behavior, creator: t.Creator}); x.By != 0 && no != "" {
		return &x.Counts.Forbidden
	}
	var r task.Result
	switch k := name(t); x.Action {
	case cancels:
		r = m.cancel(task.Cancel{Key: k}, r)
	case retries:
		r = m.retry(task.RetryTask{Key: k, Delay: task.Millis(x.Delay), Version: x.Version, KeepCheckpoint: x.Keep}, r)
	case resubmits:
		r = m.submit(task.Submit{Namespace: k.Namespace, ID: k.ID, IfExists: task.Resubmit, Existing: true, Delay: task.Millis(x.Delay)}, r)
	case removes:
		r = m.removeTask(k, r)
	}
	switch r.Code {
	case task.OK:
		return &x.Counts.Done
	case task.QuotaExceeded:
		return nil
	}
	return &x.Counts.Refused
}
