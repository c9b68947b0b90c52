package traced

import (
	"net/http"
	"testing"

	own "github.com/taskrt/taskrt/api/tracing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

type tracer struct{ asked []string }

func (t *tracer) Begin(route, parent string) (*own.Call, func(int)) {
	t.asked = append(t.asked, route+" "+parent)
	return &own.Call{Parent: "00-0af7651916cd43dd8448eb211c80319c-0000000000000007-01"}, func(int) {}
}

// TestBegin: only requests that make tasks due have a trace, and only one header says which (SPEC U2).
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, route string
		headers       []string
		want          string
	}{
		{"POST", "/v1/tasks", []string{parent}, parent},
		{"POST", "/v1/operations", []string{"01" + parent[2:] + "-later"}, parent},
		{"POST", "/v1/tasks", nil, ""},
		{"POST", "/v1/tasks", []string{parent, parent}, ""},
		{"POST", "/v1/tasks", []string{"nonsense"}, ""},
		{"POST", "/v1/tasks/{id}/cancel", []string{parent}, ""},
		{"GET", "/v1/tasks", []string{parent}, ""},
	} {
		r, err := http.NewRequest(c.method, c.route, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[own.Header] = c.headers
		traced, end := Begin(r, c.route, nil)
		if got := own.Parent(traced.Context()); got != c.want || end != nil || (c.want == "") != (traced == r) {
			t.Errorf("%+v: %q", c, got)
		}
		var asked tracer
		traced, end = Begin(r, c.route, &asked)
		if whole := c.method == "POST" && c.route != "/v1/tasks/{id}/cancel"; whole != (end != nil) || whole != (len(asked.asked) == 1) || whole == (traced == r) {
			t.Errorf("%+v: asked %q", c, asked.asked)
		} else if whole && (asked.asked[0] != c.route+" "+c.want || own.Parent(traced.Context()) == c.want) {
			t.Errorf("%+v: asked %q", c, asked.asked)
		}
	}
}
