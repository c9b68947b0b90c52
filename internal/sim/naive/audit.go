package naive

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// note is A8: what a caller changes by a route that it names is recorded, with the outcome.
func (m *Model) note(c task.Caller, r task.Result) task.Result {
	if c.Route != "" {
		var x task.AuditRecord
		x.Token, x.Name, x.From, x.Route, x.Target, x.Code = c.Token, m.callerName, c.From, c.Route, c.Target, string(r.Code)
		m.newRecord(&m.Changes, m.limits.Changes, x)
	}
	return r
}

func (m *Model) newRecord(to *[]task.AuditRecord, room int, x task.AuditRecord) {
	m.Audited++
	x.Number, x.Index, x.At = m.Audited, m.index, int64(m.Now)
	m.Noted = append(m.Noted, x.Number)
	*to = append(*to, x)
	*to = (*to)[max(0, len(*to)-room):]
}

func (m *Model) tokenName(number uint64) string {
	for _, t := range m.Access {
		if t.Number == number {
			return t.Name
		}
	}
	return map[uint64]string{1: "root"}[number]
}

// noteRefusals is A8: one record a minute for each token, route and namespace, and ten a second in all.
func (m *Model) noteRefusals(c task.NoteRefusals) (r task.Result) {
	if len(c.Refusals) == 0 || slices.ContainsFunc(c.Refusals, func(x task.Refusal) bool {
		return x.Count < 1 || x.Token == 0 || x.Route == "" || len(x.Route) > 64 || len(x.From) > 64 || len(x.Namespace) > 199
	}) {
		return task.Result{Code: task.InvalidCommand}
	}
	r.Changed = true
	for _, x := range c.Refusals {
		if x.Namespace != "" {
			x.Namespace += "/"
		}
		same, lately := -1, 0
		for i, old := range m.Refused {
			if old.At+1000 > int64(m.Now) {
				lately++
			}
			if old.At+60_000 > int64(m.Now) && old.Token == x.Token && old.Route == x.Route && old.Target == x.Namespace {
				same = i
			}
		}
		if same >= 0 {
			m.Refused[same].Count += x.Count
		} else if lately >= 10 {
			m.Lost += x.Count
		} else {
			var n task.AuditRecord
			n.Token, n.Name, n.From, n.Route, n.Target, n.Code, n.Count = x.Token, m.tokenName(x.Token), x.From, x.Route, x.Namespace, "forbidden", x.Count
			m.newRecord(&m.Refused, m.limits.Refusals, n)
			r.Count++
		}
	}
	return r
}

// AuditTime returns when a record of the audit is too old next; 0: there is none.
func (m *Model) AuditTime() task.Time {
	at := task.Time(0)
	for _, ring := range [][]task.AuditRecord{m.Changes, m.Refused} {
		if len(ring) > 0 {
			at = min(cmp.Or(at, task.MaxTime), max(task.Time(ring[0].At+m.limits.Age), 1))
		}
	}
	return at
}

// tickAudit removes what is too old, some of it in each Tick.
func (m *Model) tickAudit() {
	for i := 0; i < m.limits.Sweep && m.AuditTime() != 0 && m.AuditTime() <= m.Now; i++ {
		m.struck = true
		if len(m.Changes) > 0 && m.Changes[0].At+m.limits.Age <= int64(m.Now) {
			m.Changes = m.Changes[1:]
		} else {
			m.Refused = m.Refused[1:]
		}
	}
}
