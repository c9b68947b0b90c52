package login_test

import (
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/login"
)

// TestParseRule: rules as people write them (SPEC A7).
func TestParseRule(t *testing.T) {
	for text, want := range map[string]auth.IssuerRule{
		"groups=ops operate,read":                 {Claim: "groups", Value: "ops", Roles: []string{"operate", "read"}},
		"sub=system:serviceaccount:ci:* deploy t": {Claim: "sub", Value: "system:serviceaccount:ci:*", Roles: []string{"deploy"}, Namespaces: []string{"t"}},
		" a.b=c=d  read  x,y-*  mail.* ":          {Claim: "a.b", Value: "c=d", Roles: []string{"read"}, Namespaces: []string{"x", "y-*"}, Behaviors: []string{"mail.*"}},
		"groups=ops":                              {},
		"groups read":                             {},
		"=ops read":                               {},
		"groups= read":                            {},
		"a=b c d e f":                             {},
		"":                                        {},
	} {
		got, err := login.ParseRule(text)
		if (err == nil) != (want.Claim != "") || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestChoose: who names no issuer means the only one.
func TestChoose(t *testing.T) {
	one, two := auth.Place{Name: "one"}, auth.Place{Name: "two"}
	for _, c := range []struct {
		all        []auth.Place
		name, want string
	}{
		{[]auth.Place{one}, "", "one"}, {[]auth.Place{one, two}, "two", "two"}, {[]auth.Place{one, two}, "", ""}, {nil, "", ""}, {[]auth.Place{one}, "two", ""},
	} {
		got, err := login.Choose(c.all, c.name)
		if got.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v, %q: %v, %v", c.all, c.name, got, err)
		}
	}
}
