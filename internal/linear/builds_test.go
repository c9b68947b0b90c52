package linear

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/idle"
)

var former = flag.String("linear.former", "", "a former `commit`: its binary and this one make one cluster")

// TestBuildsTogether: two nodes run the binary of a former commit, and one runs this build. Faults make each of them lead, and their callers see one
// machine. Then all nodes run the former build, and this build replaces them on the same directories, in every order, and each time the former
// one comes back. Meanwhile nodes are killed and cut off, and the callers still see one machine (SPEC C9).
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
	judge := func(what string, sum tally, violation error) {
		t.Helper()
		t.Logf("%s: %d histories, %d operations, %d without an answer; %d faults: %s", what, sum.cells, sum.ops, sum.unknown,
			len(sum.struck), strings.Join(sum.struck, ", "))
		if violation != nil {
			c.fail("%v", violation)
		}
		c.waitReady()
		c.digestsAgree()
	}
	sum, violation := run(t, c, *seed, *duration/2)
	judge("one node of this build, two of the former", sum, violation)
	u := &upgrades{c: c, this: this, former: exe}
	if err := u.replace(t.Context(), 0, exe, syscall.SIGTERM); err != nil {
		c.fail("%v", err)
	}
	sum, violation = drill(t, c, *seed, func(ctx context.Context) []string { return u.inEveryOrder(ctx, *seed) }, u.done.Load)
	if u.failed != nil {
		c.fail("%v", u.failed)
	}
	judge("upgrades in every order, and back", sum, violation)
	if n := len(sum.struck); n < len(orders)*(2*hosts+2) {
		t.Errorf("only %d nodes were replaced or struck", n)
	}
	for i := range hosts {
		if err := u.replace(t.Context(), i, this, syscall.SIGTERM); err != nil {
			c.fail("%v", err)
		}
	}
	sum, violation = run(t, c, *seed, *duration/2)
	judge("all of this build", sum, violation)
}

// orders are all orders of the nodes.
var orders = [][hosts]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// upgrades replaces the binaries of a cluster, one node after the other.
type upgrades struct {
	c            *cluster
	this, former string
	done         atomic.Bool
	failed       error // read when done is set
}

// inEveryOrder brings all nodes from the former build to this one in every order, and back each time. Nodes are asked to end or killed, faults
// strike the mixed cluster and that of this build alone, and a node of this build starts again.
func (u *upgrades) inEveryOrder(ctx context.Context, seed uint64) (struck []string) {
	defer u.done.Store(true)
	r := rand.New(rand.NewPCG(seed, 0x0bde5))
	to := func(exe, what string, i int) {
		if u.failed != nil || ctx.Err() != nil {
			return
		}
		how := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[r.IntN(2)]
		if u.failed = u.replace(ctx, i, exe, how); u.failed == nil {
			struck = append(struck, fmt.Sprintf("n%d %s", i+1, what))
		}
	}
	fault := func() {
		what := ""
		for what == "" && u.failed == nil && ctx.Err() == nil {
			what = u.c.fault(ctx, r)
		}
		struck = append(struck, what)
	}
	for _, order := range orders {
		mixed := r.IntN(hosts - 1) // a fault strikes while so many and one have been replaced
		for n, i := range order {
			if to(u.this, "up", i); n == mixed {
				fault()
			}
		}
		to(u.this, "again", r.IntN(hosts))
		fault()
		for _, i := range r.Perm(hosts) {
			to(u.former, "back", i)
		}
	}
	return struck
}

// replace ends a node by a signal, starts another binary on its directory, and waits until all nodes are ready.
func (u *upgrades) replace(ctx context.Context, i int, exe string, how syscall.Signal) error {
	c := u.c
	c.signal(i, how)
	<-c.nodes[i].gone
	c.nodes[i].args[0] = exe
	c.start(i)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !c.ready() {
		for n, p := range c.nodes {
			select {
			case <-p.gone:
				return fmt.Errorf("n%d has ended after n%d was replaced", n+1, i+1)
			default:
			}
		}
		if !idle.For(ctx, 50*time.Millisecond) {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("not all are ready after n%d was replaced", i+1)
			}
			return nil // the test has ended
		}
	}
	return nil
}
