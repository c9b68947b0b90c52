package server_test

import (
	"regexp"
	"testing"

	"github.com/taskrt/taskrt/api/server"
)

// TestPreferMinimalOfFinish: a finish has a short answer, too, alone and among many.
func TestPreferMinimalOfFinish(t *testing.T) {
	s := newServer(t, server.Config{})
	s.do("PUT", "/v1/behaviors/apitest.short", `{"kind":"external"}`)
	s.do("POST", "/v1/tasks", `{"behavior":"apitest.short","id":"abc","params":{"a":1}}`)
	accepted := s.do("POST", "/v1/behaviors/apitest.short/accept", `{"worker":"w"}`)
	token := regexp.MustCompile(`"token":([0-9]+)`).FindStringSubmatch(accepted.body)
	if token == nil {
		t.Fatal(accepted.body)
	}
	const task = `\{"namespace":"default","id":"abc","behavior":"apitest.short","status":"SUCCESS","final":true,"rev":[0-9]+,"created_at":"[^"]+"\}`
	one := `"token":` + token[1] + `,"result":1`
	for _, c := range []struct{ path, body, want string }{
		{"/v1/tasks/abc/finish", `{` + one + `}`, `^\{"task":` + task + `\}\n$`},
		{"/v1/tasks/abc/finish", `{` + one + `}`, `^\{"task":` + task + `,"repeated":true\}\n$`},
		{"/v1/tasks:finish", `{"reports":[{"id":"abc",` + one + `},{"id":"no-such-task","token":1}]}`, `^\{"results":\[\{"task":` + task + `,"repeated":true\},\{"error":\{"code":"halt".*\}\}\]\}\n$`},
	} {
		a := s.do("POST", c.path, c.body, "Prefer", "return=minimal")
		if !regexp.MustCompile(c.want).MatchString(a.body) || a.header.Get("Preference-Applied") != "return=minimal" {
			t.Errorf("%s: %d %v %s", c.path, a.status, a.header, a.body)
		}
	}
	if a := s.do("POST", "/v1/tasks/abc/finish", `{`+one+`}`); !regexp.MustCompile(`"params":\{"a":1\}`).MatchString(a.body) || a.header.Get("Preference-Applied") != "" {
		t.Errorf("without the preference: %d %v %s", a.status, a.header, a.body)
	}
}

// TestPreferMinimal: "Prefer: return=minimal" leaves of each task the fields that name it, and the answer has the header
// Preference-Applied (RFC 7240).
func TestPreferMinimal(t *testing.T) {
	s := newServer(t, server.Config{})
	const one = `{"behavior":"apitest.ok","id":"abc","params":{"a":1}}`
	task := `\{"namespace":"default","id":"abc","behavior":"apitest.ok","status":"[A-Z]+","final":(true|false),"rev":[0-9]+,"created_at":"[^"]+"\}`
	for _, prefer := range []string{"return=minimal", "respond-async, Return = Minimal; a=b", `return="minimal"`, "return=minimal, return=representation"} {
		for _, c := range []struct{ body, want string }{
			{one, `^\{"task":` + task + `,"outcome":"[a-z]+"\}\n$`},
			{`{"tasks":[` + one + `,{"behavior":"nobody"},` + one + `]}`, `^\{"results":\[\{"task":` + task + `,"outcome":"existing"\},\{"error":\{"code":"behavior_not_found".*\}\},\{"task":` + task + `,"outcome":"existing"\}\]\}\n$`},
		} {
			a := s.do("POST", "/v1/tasks", c.body, "Prefer", prefer)
			if !regexp.MustCompile(c.want).MatchString(a.body) || a.header.Get("Preference-Applied") != "return=minimal" || a.header.Get("Taskrt-Index") == "" {
				t.Errorf("%s: %d %v %s", prefer, a.status, a.header, a.body)
			}
		}
	}
	whole := regexp.MustCompile(`"params":\{"a":1\}`)
	for _, prefer := range []string{"", "return=representation", "returns=minimal", "minimal", "return=representation, return=minimal"} {
		if a := s.do("POST", "/v1/tasks", one, "Prefer", prefer); !whole.MatchString(a.body) || a.header.Get("Preference-Applied") != "" {
			t.Errorf("%q: %d %v %s", prefer, a.status, a.header, a.body)
		}
	}
	// A submit that waits is answered in full, because its caller wants the outcome.
	if a := s.do("POST", "/v1/tasks?wait=30s", one, "Prefer", "return=minimal"); !whole.MatchString(a.body) || a.header.Get("Preference-Applied") != "" {
		t.Errorf("with a wait: %d %v %s", a.status, a.header, a.body)
	}
}
