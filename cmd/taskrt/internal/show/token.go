package show

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Tokens lists tokens.
func Tokens(w *terminal.Table, all []auth.Token) {
	w.Row("NAME", "ROLES", "NAMESPACES", "BEHAVIORS", "EXPIRES", "CREATED", "BY")
	for _, t := range all {
		w.Row(t.Name, list(t.Roles), list(t.Namespaces), list(t.Behaviors), Time(t.ExpiresAt), Time(t.CreatedAt), by(&t))
	}
}

// Token shows a token.
func Token(w *terminal.Table, t *auth.Token) {
	w.Field("name", t.Name)
	if t.Subject != "" {
		w.Field("signed in", t.Subject)
	}
	w.Field("roles", list(t.Roles))
	w.Field("namespaces", list(t.Namespaces))
	w.Field("behaviors", list(t.Behaviors))
	w.Field("expires", Time(t.ExpiresAt))
	if t.Rate > 0 {
		w.Field("requests per second", t.Rate)
	}
	w.Field("created", Time(t.CreatedAt))
	w.Field("created by", OrDash(t.CreatedBy))
	w.Field("rotated", Time(t.RotatedAt))
	if t.FormerUntil != nil {
		w.Field("the former one holds until", Time(t.FormerUntil))
	}
}

// by is who has made a token, or has signed in for it.
func by(t *auth.Token) string {
	if t.Subject != "" {
		return t.Subject
	}
	return OrDash(t.CreatedBy)
}

// Rights says in a few words what a token may do, and for how long.
func Rights(t *auth.Token) string {
	s := fmt.Sprintf("%s in namespaces %s for behaviors %s", list(t.Roles), list(t.Namespaces), list(t.Behaviors))
	if t.ExpiresAt != nil {
		s += " until " + t.ExpiresAt.String()
	}
	if t.FormerUntil != nil {
		s += "; the former one holds until " + t.FormerUntil.String()
	}
	return s
}

func list(all []string) string { return OrDash(strings.Join(all, ",")) }
