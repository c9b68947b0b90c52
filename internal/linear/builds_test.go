package linear

import (
	"flag"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
)

var former = flag.String("linear.former", "", "a former `commit`: its binary and this one make one cluster")

// TestBuildsTogether: two nodes run the binary of a former commit, and one runs this build. Faults make each of them
// lead, and their callers see one machine. Then this build replaces the nodes of the former build, one after the other,
// on the same directories. The callers still see one machine.
func TestBuildsTogether(t *testing.T) {
	needsProcesses(t)
	if *former == "" {
		t.Skip("without -linear.former: takes minutes (make linear)")
	}
	exe := filepath.Join(t.TempDir(), "taskrt-former")
	if err := built.Commit(".", *former, exe); err != nil {
		t.Fatal(err)
	}
	this := buildBinary(t)
	c := startCluster(t, this, exe, exe)
	strike := func(what string) {
		sum, violation := run(t, c, *seed, *duration/2)
		t.Logf("%s: %d histories, %d operations, %d without an answer; %d faults: %s", what, sum.cells, sum.ops, sum.unknown,
			len(sum.struck), strings.Join(sum.struck, ", "))
		if violation != nil {
			t.Fatal(violation)
		}
		c.waitReady()
		c.digestsAgree()
	}
	strike("one node of this build, two of the former")
	for i := 1; i < hosts; i++ {
		c.signal(i, syscall.SIGTERM)
		<-c.nodes[i].gone
		c.nodes[i].args[0] = this
		c.start(i)
		c.waitReady()
		c.digestsAgree()
	}
	strike("all of this build")
}
