package devaddr_test

import (
	"net"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/devaddr"
)

// TestListen: nobody else gets a node-to-node address before the member that it is for, and the next run of
// the cluster has the addresses of the last one.
func TestListen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listeners, err := devaddr.Listen(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	addrs := devaddr.Of(listeners)
	for _, addr := range addrs {
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			t.Errorf("%s is free", addr)
		}
	}
	devaddr.Close(listeners)
	again, err := devaddr.Listen(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer devaddr.Close(again)
	kept := func(addr string) bool { return slices.Contains(addrs, addr) }
	if got := devaddr.Of(again); len(got) != 3 || !slices.ContainsFunc(got, kept) { // one may be taken meanwhile
		t.Errorf("%v after %v", got, addrs)
	}
}
