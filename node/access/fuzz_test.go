package access

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/trust"
)

// FuzzEnter: whatever stands in the header Authorization, only a token that holds gets in. Every refusal has a code that the API knows.
func FuzzEnter(f *testing.F) {
	w := newWorld()
	g := New(w.config())
	g.alone.Store(false) // Run does so when it sees a leader
	ci := w.add(2, "ci")
	for _, header := range []string{ci, "Bearer " + trust.DrawToken().Text(), "bearer trt_", "Basic YTpi", "", "Bearer", ci + " ", ci + "\x00"} {
		f.Add(header, "192.0.2.1:5")
	}
	f.Add(ci, "[fe80::1%eth0]:1")
	f.Fuzz(func(t *testing.T, header, addr string) {
		p, err := g.Enter(header, addr)
		kind, text, _ := strings.Cut(header, " ")
		holds := strings.EqualFold(kind, "Bearer") && text == strings.TrimPrefix(ci, "Bearer ")
		switch {
		case p != nil && !holds:
			t.Errorf("%q is %s", header, p.Name)
		case err != nil && api.StatusOf(api.CodeOf(err)) < 400:
			t.Errorf("%q: %v", header, err)
		}
	})
}
