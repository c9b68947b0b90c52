package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFaultIsNotBadUsage: a server and a worker that a watchdog aborts, as if they had a fault, end by the signal. Exit code 2, by which Go ends
// such programs, would keep a supervisor from starting them again (SPEC C10).
func TestFaultIsNotBadUsage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	for _, p := range []*process{c.addWorker("w1", 1), c.nodes[2]} {
		p.signal(syscall.SIGABRT)
		<-p.gone
		status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		log, err := os.ReadFile(filepath.Join(p.dir, "log"))
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT || err != nil || !strings.Contains(string(log), "SIGABRT: abort") {
			t.Errorf("%s: %v, %v\n%.2000s", p.id, p.cmd.ProcessState, err, log)
		}
	}
}
