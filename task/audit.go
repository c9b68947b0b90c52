package task

import (
	"github.com/taskrt/taskrt/task/audit"
	"github.com/taskrt/taskrt/task/hash"
)

// AuditRecord says who changed what (SPEC A8): audit.Record, as a record of a snapshot.
type AuditRecord = audit.Record

// AuditHead is what the head of a snapshot says of the audit.
type AuditHead = audit.Head

// WithAudit is WithLimit for the bounds of the audit.
func WithAudit(b audit.Bounds) Option {
	return func(m *Machine) { m.audit = audit.NewTable(hash.OfAudit, b) }
}

// Audit returns the records of changes and refusals for reading.
func (m *Machine) Audit() audit.View { return m.audit.View() }

// noted records a command and its outcome r, and returns r (SPEC A8). It records only commands whose caller names the route. A kept answer is not
// recorded again: its command was recorded when it was applied.
func noted(m *Machine, c *Caller, r Result) Result {
	if c.Route == "" {
		return r
	}
	x := audit.Record{Index: m.index, At: int64(m.now), Token: c.Token, Name: m.callerName, From: c.From, Route: c.Route, Target: c.Target, Code: string(r.Code)}
	m.audit.Put(&x)
	m.emit(Event{Kind: AuditNoted, Audit: &x})
	return r
}

// NoteRefusals records requests that a node has refused for lack of a role (SPEC A8). Result.Count is the number of new records. The other
// refusals are counted in earlier records, or nowhere if there were too many lately.
type NoteRefusals struct {
	Refusals []Refusal `cbor:"1,keyasint"`
}

// Refusal is a refusal, as it stands in the log.
type Refusal = audit.Refusal

func (NoteRefusals) level() uint64 { return AccessLevel }

func (c NoteRefusals) apply(m *Machine) (r Result) {
	if field, why := audit.WrongRefusals(c.Refusals); field != "" {
		return invalid(field, why)
	}
	r.Changed = true
	for _, no := range c.Refusals {
		x := no.Record(m.index, int64(m.now), m.Access().Name(no.Token))
		if m.audit.Refuse(&x) {
			r.Count++
			m.emit(Event{Kind: AuditNoted, Audit: &x})
		}
	}
	return r
}
