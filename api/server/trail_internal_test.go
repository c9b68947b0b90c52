package server

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/audit"
)

// TestTrails: a request by a route that needs deploy, operate or admin leaves a record, whatever it is about. By routes that whoever submits or works
// may use, too, the Service decides, unless the token has no such role (SPEC A8).
func TestTrails(t *testing.T) {
	marked := 0
	for _, to := range routes() {
		if field, why := audit.Wrong("", to.method+" "+to.path, ""); field != "" {
			t.Errorf("%s: its route %s", to.id, why)
		}
		if !to.changes() {
			continue
		}
		only := to.needs.Of|to.needs.And != 0 && !slices.ContainsFunc(append(to.needs.Of.Names(), to.needs.And.Names()...), func(role string) bool {
			return strings.Contains("read submit work", role)
		})
		for _, roles := range []access.Roles{access.All, access.Operate, auth.Audited, access.Submit | access.Operate} {
			p := &auth.Principal{Grant: access.Grant{Roles: roles}}
			c := to.trail(p, httptest.NewRequest(to.method, "/", nil))
			mixed := (to.needs.Of|to.needs.And)&auth.Audited != 0 && !only
			want := only || mixed && roles&(access.Read|access.Submit|access.Work) == 0
			if c.Recorded() != want || c.Route != to.method+" "+to.path || c.From != "192.0.2.1:1234" {
				t.Errorf("%s by %s: %t, %s from %s", to.id, roles, c.Recorded(), c.Route, c.From)
			}
			if want {
				marked++
			}
		}
	}
	if marked < 60 {
		t.Errorf("only %d", marked)
	}
}
