package show

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Tokens lists tokens.
func Tokens(w *terminal.Table, all []auth.Token) {
	List(w, all, true, []Column[auth.Token]{
		{Name: "NAME", Cell: func(t auth.Token) any { return t.Name }},
		{Name: "ROLES", Cell: func(t auth.Token) any { return list(t.Roles) }},
		{Name: "NAMESPACES", Cell: func(t auth.Token) any { return list(t.Namespaces) }},
		{Name: "BEHAVIORS", Cell: func(t auth.Token) any { return list(t.Behaviors) }},
		{Name: "EXPIRES", Cell: func(t auth.Token) any { return Time(t.ExpiresAt) }},
		{Name: "CREATED", Cell: func(t auth.Token) any { return Time(t.CreatedAt) }},
		{Name: "BY", Cell: func(t auth.Token) any { return by(&t) }},
		{Name: "RATE", Wide: true, Cell: func(t auth.Token) any { return orDash0(t.Rate) }},
		{Name: "ROTATED", Wide: true, Cell: func(t auth.Token) any { return Time(t.RotatedAt) }},
		{Name: "FORMER-UNTIL", Wide: true, Cell: func(t auth.Token) any { return Time(t.FormerUntil) }},
	})
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
