package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task/access"
)

// TestRoles: each role has a name, and a name has one role (SPEC A5).
func TestRoles(t *testing.T) {
	all := access.All.Names()
	if want := []string{"read", "submit", "work", "deploy", "operate", "admin"}; !slices.Equal(all, want) {
		t.Fatalf("%v", all)
	}
	var union access.Roles
	for _, name := range all {
		r, ok := access.Role(name)
		if !ok || r.String() != name {
			t.Errorf("%s is %v, %t", name, r, ok)
		}
		union |= r
	}
	if union != access.All {
		t.Errorf("together they are %v", union)
	}
	if _, ok := access.Role("root"); ok {
		t.Error("root is a role")
	}
}

// TestPatterns: a pattern is a name, or a beginning and a star.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "team-a", true},
		{"team-*", "team-a", true},
		{"team-*", "team-", true},
		{"team-*", "team", false},
		{"team", "team", true},
		{"team", "team-a", false},
		{"", "team", false},
	} {
		if got := access.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %t", c.pattern, c.name, got)
		}
	}
}

// TestGrant asks one grant everything.
func TestGrant(t *testing.T) {
	g := access.Grant{Roles: access.Read | access.Submit, Namespaces: []string{"team-*", "lab"}, Behaviors: []string{"mail.*"}}
	whole := access.Grant{Roles: access.Operate, Namespaces: []string{"lab"}, Behaviors: []string{"*"}}
	every := access.Everything()
	for name, is := range map[string][2]bool{
		"a role, a namespace, a behavior":    {g.Allows(access.Read, "team-a", "mail.send"), true},
		"one of two roles":                   {g.Allows(access.Work|access.Submit, "lab", "mail.send"), true},
		"another role":                       {g.Allows(access.Work, "team-a", "mail.send"), false},
		"another namespace":                  {g.Allows(access.Read, "teams", "mail.send"), false},
		"another behavior":                   {g.Allows(access.Read, "team-a", "mail"), false},
		"in a namespace":                     {g.In(access.Read, "lab"), true},
		"in a namespace, another role":       {g.In(access.Admin, "lab"), false},
		"not in another one":                 {g.In(access.All, "default"), false},
		"some behaviors are not all":         {g.Whole(access.Read, "lab"), false},
		"all behaviors":                      {whole.Whole(access.Operate, "lab"), true},
		"all behaviors, elsewhere":           {whole.Whole(access.Operate, "team-a"), false},
		"a namespace is not every namespace": {whole.Everywhere(access.Operate), false},
		"everywhere":                         {every.Everywhere(access.Admin), true},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: %t", name, is[0])
		}
	}
}

// TestCovers: who may give a grant away.
func TestCovers(t *testing.T) {
	grant := func(roles access.Roles, namespaces, behaviors string) *access.Grant {
		return &access.Grant{Roles: roles, Namespaces: strings.Fields(namespaces), Behaviors: strings.Fields(behaviors)}
	}
	wide := grant(access.Read|access.Admin, "team-* lab", "*")
	for _, c := range []struct {
		of   *access.Grant
		want bool
	}{
		{wide, true},
		{grant(access.Read, "team-a", "mail"), true},
		{grant(access.Read, "team-a*", "*"), true},
		{grant(access.Read, "team-* lab", "*"), true},
		{grant(access.Submit, "team-a", "mail"), false},
		{grant(access.Read, "team*", "mail"), false},
		{grant(access.Read, "lab*", "mail"), false},
		{grant(access.Read, "lab other", "mail"), false},
		{grant(access.Read, "*", "mail"), false},
	} {
		if got := wide.Covers(c.of); got != c.want {
			t.Errorf("%+v: %t", *c.of, got)
		}
	}
	if grant(access.Read, "*", "mail").Covers(grant(access.Read, "*", "*")) {
		t.Error("one behavior covers all")
	}
}

// TestCheck: what a grant may be.
func TestCheck(t *testing.T) {
	many := slices.Repeat([]string{"a"}, access.MaxPatterns+1)
	for _, c := range []struct {
		grant access.Grant
		field string
	}{
		{access.Everything(), ""},
		{access.Grant{Roles: access.Read, Namespaces: many[1:], Behaviors: []string{"a.b_c-9*"}}, ""},
		{access.Grant{Namespaces: []string{"*"}, Behaviors: []string{"*"}}, "roles"},
		{access.Grant{Roles: access.All + 1, Namespaces: []string{"*"}, Behaviors: []string{"*"}}, "roles"},
		{access.Grant{Roles: access.Read, Behaviors: []string{"*"}}, "namespaces"},
		{access.Grant{Roles: access.Read, Namespaces: many, Behaviors: []string{"*"}}, "namespaces"},
		{access.Grant{Roles: access.Read, Namespaces: []string{""}, Behaviors: []string{"*"}}, "namespaces"},
		{access.Grant{Roles: access.Read, Namespaces: []string{"a*b"}, Behaviors: []string{"*"}}, "namespaces"},
		{access.Grant{Roles: access.Read, Namespaces: []string{"*"}}, "behaviors"},
		{access.Grant{Roles: access.Read, Namespaces: []string{"*"}, Behaviors: []string{strings.Repeat("a", access.MaxPattern+1)}}, "behaviors"},
		{access.Grant{Roles: access.Read, Namespaces: []string{"*"}, Behaviors: []string{"Ä"}}, "behaviors"},
	} {
		if field, why := c.grant.Check(); field != c.field || (why == "") != (c.field == "") {
			t.Errorf("%+v: %s %s", c.grant, field, why)
		}
	}
}

// TestName: what a token may be called. A name is no pattern.
func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"c": false, "ci": true, "a.b_c-9": true, "root": true, strings.Repeat("a", access.MaxName): true, strings.Repeat("a", access.MaxName+1): false,
		"": false, "9ci": false, "Team": false, "team*": false, "te*m": false, "té-": false,
	} {
		if access.IsName(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
		x := access.Token{Name: name, Hash: access.Hash{1}, Grant: access.Everything()}
		if field, _ := x.Wrong(); (field == "") != (want && name != access.RootName) {
			t.Errorf("a token named %q: %q is wrong", name, field)
		}
	}
}
