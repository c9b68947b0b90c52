package pages_test

import (
	"os"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/api/server/pages"
)

// TestNamesOfAPort: a port is called by the hosts of its addresses and by what the operator says; one on all addresses, by the machine's
// name (SPEC A6).
func TestNamesOfAPort(t *testing.T) {
	t.Parallel()
	machine, err := os.Hostname()
	if err != nil || pages.CheckName(machine) != nil {
		machine = "" // it has no name
	}
	for _, c := range []struct{ given, addrs, want []string }{
		{nil, []string{"n1.example:7070", "10.0.0.1:7170"}, []string{"n1.example", "10.0.0.1"}},
		{[]string{"proxy"}, []string{"127.0.0.1:7070", "n1:7170"}, []string{"proxy", "127.0.0.1", "n1"}},
		{nil, []string{"0.0.0.0:7070", "n1:7170"}, []string{machine, "n1"}},
		{nil, []string{":7070", "0.0.0.0:7170"}, []string{machine}},
		{nil, []string{"[::]:7070"}, []string{machine}},
	} {
		c.want = slices.DeleteFunc(c.want, func(name string) bool { return name == "" })
		if got := pages.Names(c.given, c.addrs...); !slices.Equal(got, c.want) {
			t.Errorf("%v, %v: %v, want %v", c.given, c.addrs, got, c.want)
		}
	}
}
