package trio

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestFamily: children of children count, strangers do not.
func TestFamily(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	cmd := leash.Command("sh", "-c", "sh -c 'echo; exec sleep 1000' & wait") // the inner one says when it is there
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	family := Family(os.Getpid())
	if family[0] != os.Getpid() || !slices.Contains(family, cmd.Process.Pid) || len(Family(cmd.Process.Pid)) != 2 {
		t.Errorf("%v, %v", family, Family(cmd.Process.Pid))
	}
	if slices.Contains(family, 1) {
		t.Error("init is no child")
	}
	if pid, found := Guests(os.Getpid()); found {
		t.Errorf("%d has guests", pid)
	}
	for _, pid := range slices.Backward(Family(cmd.Process.Pid)) {
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Kill()
	}
	_ = cmd.Wait()
	if got := Family(cmd.Process.Pid); !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("of a dead one: %v", got)
	}
}
