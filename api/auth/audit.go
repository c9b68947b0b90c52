package auth

import (
	"context"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task/access"
)

// Audit shows who changed what (SPEC A8). Its caller needs the role admin for everything.
type Audit interface {
	// Audit lists records in the order of the log.
	Audit(ctx context.Context, r AuditRequest) (*AuditReply, error)
	// FollowAudit hands out records as events of the kind AuditEvent: the present ones behind a number, and those to come. The rev of an event
	// is the number of its record. A refusal is handed out once, with the count that it had then.
	FollowAudit(ctx context.Context, r AuditRequest) (api.EventStream, error)
}

// AuditEvent is the kind of the events of FollowAudit. Their data is an AuditRecord.
const AuditEvent = "audit"

// AuditRecord is one change, or refusals of one kind, as JSON.
type AuditRecord struct {
	Number   uint64   `json:"number"` // rises with every record
	Index    uint64   `json:"index"`  // of the log entry
	At       api.Time `json:"at"`
	Token    string   `json:"token"` // its name then, or token:N if it was gone; "": whoever has the cluster secret
	From     string   `json:"from,omitempty"`
	Route    string   `json:"route"`
	Target   string   `json:"target,omitempty"`   // in a namespace: the namespace, / and what in it
	Code     string   `json:"code,omitempty"`     // why it was refused; absent: it was done
	Requests int64    `json:"requests,omitempty"` // that lacked a role for the route, within a minute; absent: it is a change
}

// AuditRequest asks for records. Empty fields fit every record.
type AuditRequest struct {
	After     uint64 // a number: the records behind it
	HasAfter  bool   // FollowAudit: After is given. Else only records to come are handed out
	Limit     int    // of a page
	Cursor    string // of the page before, instead of After
	Token     string // a name, or token:N
	Route     string // a method and a path, or a path
	Namespace string
	Refused   string // "true": only refusals for lack of a role; "false": only changes
}

// AuditReply is a page of records.
type AuditReply struct {
	Records []AuditRecord `json:"records"`
	Cursor  string        `json:"cursor,omitempty"` // of the next page; absent: this is the last one
	// LostRefusals are requests that no record counts, because there were too many of different kinds at a time.
	LostRefusals int64 `json:"lost_refusals,omitempty"`
}

// Refusal is a request that was refused for lack of a role.
type Refusal struct {
	Token                  uint64 // number
	From, Route, Namespace string // no namespace in particular: ""
}

// LacksRole reports whether an error is the answer to a principal that lacks a role: also that a namespace is not there, in which it has none.
func LacksRole(p *Principal, namespace string, err error) bool {
	if p == nil || err == nil {
		return false
	}
	code := api.CodeOf(err)
	return code == api.CodeForbidden || code == "namespace_not_found" && namespace != "" && !p.Grant.In(access.All, namespace)
}

// auditCursor begins the cursors of this list.
const auditCursor = "a"

// AuditCursor is where the page behind a record begins.
func AuditCursor(number uint64) string { return auditCursor + strconv.FormatUint(number, 36) }

// Check checks a request, and fills in what is absent; nil or an *api.Error.
func (r *AuditRequest) Check() error {
	if err := checkPage(&r.Limit); err != nil {
		return err
	}
	switch r.Refused {
	case "", "true", "false":
	default:
		return api.FieldError(api.CodeInvalidField, "refused", "must be true or false")
	}
	if r.Namespace != "" {
		if err := api.CheckNamespace(&r.Namespace); err != nil {
			return err
		}
	}
	if r.Cursor == "" {
		return nil
	}
	digits, ok := strings.CutPrefix(r.Cursor, auditCursor)
	n, err := strconv.ParseUint(digits, 36, 63)
	if !ok || err != nil || AuditCursor(n) != r.Cursor || r.HasAfter {
		return api.FieldError(api.CodeInvalidField, "cursor", "is not one of this list, or stands beside after")
	}
	r.After = n
	return nil
}

// Fits reports whether the request asks for a record.
func (r *AuditRequest) Fits(x *AuditRecord) bool {
	namespace, _, in := strings.Cut(x.Target, "/")
	_, path, _ := strings.Cut(x.Route, " ")
	return (r.Token == "" || r.Token == x.Token) && (r.Route == "" || r.Route == x.Route || r.Route == path) &&
		(r.Namespace == "" || in && r.Namespace == namespace) && (r.Refused == "" || (r.Refused == "true") == (x.Requests > 0))
}
