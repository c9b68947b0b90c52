package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/terminal"
)

// asker is a client of a server that answers by path; a path without an answer is refused with a code.
func asker(t *testing.T, answers map[string]string) *client.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if r.URL.Path == "/v1/tasks" {
			text, ok = answers["/v1/tasks "+r.URL.Query().Get("behavior")]
			if r.URL.Query().Get("finished_from") == "" || r.URL.Query().Get("count") != "true" {
				t.Errorf("asked %s", r.URL)
			}
		}
		if !ok || text[0] != '{' {
			status := map[string]int{"forbidden": 403, "unknown_field": 400}[text]
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(max(status, 404*(1-min(status, 1))))
			fmt.Fprintf(w, `{"code":%q}`, map[bool]string{true: text, false: "not_found"}[ok])
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	cl, err := client.New(client.Config{URLs: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// TestTop: what the behaviors do, those with the most to do first, and what the workers have room for; of a server of 0.1.0, and with a token that
// may not see the cluster, what there is (SPEC U3).
func TestTop(t *testing.T) {
	oldest := api.Time{Time: time.Now().Add(-3*time.Minute - time.Second)}.String()
	answers := map[string]string{
		"/v1/cluster": `{"leader":"n1","nodes":[{"id":"n1","reachable":true},{"id":"n2"}],"tasks":{"running":3,"failure":2},
			"workers":[{"id":"n1","node":"n1","slots":4,"running":3},{"id":"w\u001b[2J","running":1},{"id":"n2","slots":2,"running":9},{"id":"n3","slots":2,"drained":true}]}`,
		"/v1/behaviors":            `{"behaviors":[{"name":"calm","kind":"wasm"},{"name":"busy","kind":"wasm","paused":true}]}`,
		"/v1/behaviors/calm/stats": `{"delayed":7}`,
		"/v1/behaviors/busy/stats": `{"due":5,"running":3,"retrying":1,"oldest":"` + oldest + `"}`,
		"/v1/failures":             `{"groups":[{"behavior":"busy","code":"TRAP","final":2,"retrying":1},{"behavior":"busy","code":"TIMEOUT","final":1}]}`,
		"/v1/tasks busy":           `{"tasks":[],"count":10000,"count_more":true}`,
		"/v1/tasks calm":           `{"tasks":[],"count":0}`,
	}
	for _, tc := range []struct {
		name string
		with map[string]string
		want string
	}{
		{"this server", nil, `
leader n1, 1 of 2 nodes reachable; tasks: 0 created, 3 running, 0 retrying, 0 repeating, 0 succeeded, 2 failed

BEHAVIOR       DUE  RUNNING  RETRYING  DELAYED  FAILED  DONE/MIN  OLDEST DUE
busy (paused)  5    3        1         0        3       10000+    3m
calm           0    0        0         7        0       0         -

WORKER     NODE  RUNNING  SLOTS
n1         n1    3        [###############.....] 75 % of 4
w\x1b[2J   -     1        -
n2         -     9        [####################] 100 % of 2
n3         -     0        drained
`},
		{"a former one, and a token for the namespace", map[string]string{"/v1/cluster": "forbidden", "/v1/failures": "not_found", "/v1/tasks busy": "unknown_field", "/v1/tasks calm": "unknown_field"}, `
BEHAVIOR       DUE  RUNNING  RETRYING  DELAYED  FAILED  DONE/MIN  OLDEST DUE
busy (paused)  5    3        1         0        -       -         3m
calm           0    0        0         7        -       -         -
`},
	} {
		all := map[string]string{}
		for _, m := range []map[string]string{answers, tc.with} {
			for path, text := range m {
				all[path] = text
			}
		}
		v, err := Look(t.Context(), asker(t, all), "", time.Now())
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var out bytes.Buffer
		if err := terminal.New(&out).Table(v.Show); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		if got := "\n" + strings.Join(lines, "\n") + "\n"; squeezed(got) != squeezed(tc.want) {
			t.Errorf("%s:%s\nwant%s", tc.name, got, tc.want)
		}
	}
	delete(answers, "/v1/behaviors/busy/stats")
	answers["/v1/behaviors/busy/stats"] = "forbidden"
	if _, err := Look(t.Context(), asker(t, answers), "", time.Now()); api.CodeOf(err) != api.CodeForbidden {
		t.Errorf("%v: an error was lost", err)
	}
}

// squeezed has one space where there are several.
func squeezed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// TestTopHides: of many behaviors those with the most to do are shown, and how many there are beside them.
func TestTopHides(t *testing.T) {
	var list []api.Behavior
	answers := map[string]string{"/v1/cluster": "forbidden", "/v1/failures": "not_found"}
	for i := range most + 5 {
		name := fmt.Sprintf("b%03d", i)
		list = append(list, api.Behavior{Name: name})
		answers["/v1/behaviors/"+name+"/stats"] = fmt.Sprintf(`{"due":%d}`, i)
		answers["/v1/tasks "+name] = "unknown_field"
	}
	text, err := json.Marshal(map[string]any{"behaviors": list})
	if err != nil {
		t.Fatal(err)
	}
	answers["/v1/behaviors"] = string(text)
	v, err := Look(t.Context(), asker(t, answers), "", time.Now())
	if err != nil || len(v.Behaviors) != shown || v.Hidden != most+5-shown || v.Behaviors[0].Due != most-1 {
		t.Errorf("%+v, %v", v, err)
	}
}
