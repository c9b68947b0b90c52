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

// TestBegin: one header says which trace a request belongs to (SPEC U2).
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		route   string
		headers []string
		states  []string
		want    string
	}{
		{"/v1/tasks", []string{parent}, nil, parent},
		{"/v1/tasks", []string{parent}, []string{"b=2 ", "a=1"}, parent + ";b=2,a=1"},
		{"/v1/tasks", []string{parent}, []string{"b=2", "b=1"}, parent},
		{"/v1/operations", []string{"01" + parent[2:] + "-later"}, nil, parent},
		{"/v1/tasks", nil, nil, ""},
		{"/v1/tasks", []string{parent, parent}, nil, ""},
		{"/v1/tasks", []string{"nonsense"}, []string{"a=1"}, ""},
	} {
		r, err := http.NewRequest(http.MethodPost, c.route, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[own.Header], r.Header[own.StateHeader] = c.headers, c.states
		traced, end := Begin(r, c.route, nil)
		if got := own.Parent(traced.Context()); got != c.want || end != nil || (c.want == "") != (traced == r) {
			t.Errorf("%+v: %q", c, got)
		}
		var asked tracer
		traced, end = Begin(r, c.route, &asked)
		if end == nil || len(asked.asked) != 1 || asked.asked[0] != c.route+" "+c.want || own.Parent(traced.Context()) == c.want {
			t.Errorf("%+v: asked %q", c, asked.asked)
		}
	}
}
