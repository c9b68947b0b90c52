package show

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Audit lists who changed what.
func Audit(w *terminal.Table, all []auth.AuditRecord) {
	List(w, all, true, []Column[auth.AuditRecord]{
		{Name: "NUMBER", Cell: func(x auth.AuditRecord) any { return x.Number }},
		{Name: "TIME", Cell: func(x auth.AuditRecord) any { return x.At }},
		{Name: "TOKEN", Cell: func(x auth.AuditRecord) any { return auditor(&x) }},
		{Name: "ROUTE", Cell: func(x auth.AuditRecord) any { return x.Route }},
		{Name: "TARGET", Cell: func(x auth.AuditRecord) any { return OrDash(x.Target) }},
		{Name: "OUTCOME", Cell: func(x auth.AuditRecord) any { return outcome(&x) }},
		{Name: "FROM", Cell: func(x auth.AuditRecord) any { return OrDash(x.From) }},
		{Name: "INDEX", Wide: true, Cell: func(x auth.AuditRecord) any { return x.Index }},
	})
}

// Follow hands on the data of events as it comes, each as a line, until the stream ends.
func Follow(ctx context.Context, s api.EventStream, to func(line []byte) error) error {
	for {
		e, err := s.Next(ctx)
		if err == nil {
			err = to(append(bytes.TrimSpace(e.Data), '\n'))
		}
		if err != nil {
			return err
		}
	}
}

// FollowAudit prints records as they come, one a line, until the stream ends.
func FollowAudit(ctx context.Context, s api.EventStream, printf func(format string, args ...any) error) error {
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return err
		}
		var x auth.AuditRecord
		if err := json.Unmarshal(e.Data, &x); err != nil {
			return fmt.Errorf("a record that cannot be read: %w", err)
		}
		if err := printf("%s  %s  %s  %s  %s  from %s\n", Time(&x.At), auditor(&x), x.Route, OrDash(x.Target), outcome(&x), OrDash(x.From)); err != nil {
			return err
		}
	}
}

// auditor says who made a change.
func auditor(x *auth.AuditRecord) string { return cmp.Or(x.Token, "(cluster secret)") }

func outcome(x *auth.AuditRecord) string {
	if x.Requests > 0 {
		return fmt.Sprintf("%s, %d times", x.Code, x.Requests)
	}
	return cmp.Or(x.Code, "done")
}
