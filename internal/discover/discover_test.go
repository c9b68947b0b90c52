package discover

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

// zone is a Resolver that knows some names.
type zone struct {
	hosts map[string][]string
	srvs  map[string][]*net.SRV
}

var errUnknown = errors.New("no such name")

func (z zone) LookupHost(_ context.Context, host string) ([]string, error) {
	if all, ok := z.hosts[host]; ok {
		return all, nil
	}
	return nil, errUnknown
}

func (z zone) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	if all, ok := z.srvs[name]; ok && service == "" && proto == "" {
		return name, all, nil
	}
	return "", nil, errUnknown
}

// TestExpand (SPEC C1): each form stands for its addresses; what is unknown now does not keep the others from being found.
func TestExpand(t *testing.T) {
	z := zone{
		hosts: map[string][]string{"nodes.example": {"10.0.0.1", "fd00::2"}, "many.example": slices.Repeat([]string{"10.0.0.9"}, 100)},
		srvs:  map[string][]*net.SRV{"_taskrt._tcp.example": {{Target: "n1.example.", Port: 7170}, {Target: "n2.example.", Port: 7171}}},
	}
	got, err := Expand(t.Context(), z, []string{"n9:7170", "dns:nodes.example:7170", "dns:gone.example:1", "srv:_taskrt._tcp.example", "srv:gone"})
	want := []string{"n9:7170", "10.0.0.1:7170", "[fd00::2]:7170", "n1.example:7170", "n2.example:7171"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(err, errUnknown) || !strings.Contains(err.Error(), "dns:gone.example:1") || !strings.Contains(err.Error(), "srv:gone") {
		t.Errorf("the error: %v", err)
	}
	if got, err := Expand(t.Context(), z, []string{"dns:many.example:1"}); len(got) != maxFound || err != nil {
		t.Errorf("%d addresses, %v", len(got), err)
	}
}

// TestCheck: what has no form is refused before anything is looked up.
func TestCheck(t *testing.T) {
	for _, good := range []string{"n1:7170", "10.0.0.1:7170", "[::1]:7170", "dns:nodes.example:7170", "srv:_taskrt._tcp.example"} {
		if err := Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "n1", "n1:", ":7170", "n1:0", "n1:99999", "n1:x", "dns:nodes", "dns::7170", "srv:", "srv:a:7170", "http://n1:7170"} {
		if err := Check(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}
