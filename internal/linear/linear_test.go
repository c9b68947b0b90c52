// Package linear records what callers of a real three-process cluster see while its processes are killed, stopped and
// cut off from each other. Then porcupine searches for an order in which a single machine could have given these answers.
// A call without an answer is in the history as an operation that may take effect at any time, or never.
package linear

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/taskrt/taskrt/internal/leash"
)

var (
	seed     = flag.Uint64("linear.seed", 1, "of the faults and the requests")
	duration = flag.Duration("linear.for", 15*time.Second, "how long the cluster is struck")
	plant    = flag.Bool("linear.planted", false, "also find the planted bugs")
)

// These are the sizes of a run. A history is short enough to be checked in moments, and long enough to say something.
const (
	callers   = 6
	cells     = 8 // at a time
	enough    = 60
	atMost    = 240
	checkTime = 2 * time.Minute
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

func needsProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs real processes")
	}
}

// buildBinary builds taskrt. An overlay may replace files.
func buildBinary(t *testing.T, args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "taskrt")
	args = append(append([]string{"build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", bin}, args...), "github.com/taskrt/taskrt/cmd/taskrt")
	if out, err := leash.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return bin
}

// cell is something that is checked by itself.
type cell interface {
	step(ctx context.Context, r *rand.Rand, client int)
	hist() *history
}

// tally is the summary of a run.
type tally struct {
	cells, ops, unknown, fewest int
	struck                      []string
}

// run drives cells round after round until the time is over or a check fails, while faults strike the cluster. The error says which history is
// impossible.
func run(t *testing.T, c *cluster, seed uint64, long time.Duration) (tally, error) {
	begun := time.Now()
	return drill(t, c, seed, func(ctx context.Context) []string { return c.faults(ctx, seed) }, func() bool { return time.Since(begun) >= long })
}

// drill is run with something else that happens to the cluster, until enough says so.
func drill(t *testing.T, c *cluster, seed uint64, strike func(context.Context) []string, enough func() bool) (sum tally, violation error) {
	ctx, cancel := context.WithCancel(t.Context())
	faults := make(chan []string, 1)
	go func() { faults <- strike(ctx) }()
	defer func() {
		cancel()
		sum.struck = <-faults
	}()
	for first := true; violation == nil && (first || !enough()); first = false {
		c.round++
		r := rand.New(rand.NewPCG(seed, c.round))
		group, err := openCells(ctx, c, r, c.round)
		if err != nil {
			c.fail("%v", err)
		}
		drive(ctx, group, seed, c.round)
		violation = sum.check(group)
	}
	return sum, violation
}

// openCells makes the cells of one round. Half of them are TaskStore groups, and a quarter are tasks whose leases
// expire.
func openCells(ctx context.Context, c *cluster, r *rand.Rand, round uint64) ([]cell, error) {
	var group []cell
	start := time.Now()
	for i := range cells {
		name := fmt.Sprintf("lin-%d-%d", round, i)
		if i%2 == 0 {
			group = append(group, &storeCell{c: c, name: name, start: start})
			continue
		}
		tc := &taskCell{c: c, name: name, short: i%4 == 1, start: start}
		if err := tc.open(ctx, r); err != nil {
			return nil, err
		}
		group = append(group, tc)
	}
	return group, nil
}

// drive lets the callers work until every cell has enough operations.
func drive(ctx context.Context, group []cell, seed, round uint64) {
	var wg sync.WaitGroup
	for client := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed<<16+round, uint64(client)))
			for {
				var open []cell
				short := false
				for _, c := range group {
					n := c.hist().size()
					short = short || n < enough
					if n < atMost {
						open = append(open, c)
					}
				}
				if !short || ctx.Err() != nil {
					return
				}
				open[r.IntN(len(open))].step(ctx, r, client)
			}
		})
	}
	wg.Wait()
}

// check searches for an order of every cell's history.
func (sum *tally) check(group []cell) error {
	for _, c := range group {
		h := c.hist()
		sum.cells++
		sum.ops += len(h.ops)
		sum.unknown += h.unknown
		if sum.fewest == 0 || len(h.ops) < sum.fewest {
			sum.fewest = len(h.ops)
		}
		model := storeModel
		name := ""
		switch c := c.(type) {
		case *taskCell:
			model, name = taskModel, c.name
		case *storeCell:
			name = c.name
		}
		if h.wrong != nil {
			return fmt.Errorf("%s: %w", name, h.wrong)
		}
		switch verdict, info := porcupine.CheckOperationsVerbose(model.ToModel(), h.ops, checkTime); verdict {
		case porcupine.Illegal:
			file := filepath.Join(os.TempDir(), name+".html")
			_ = porcupine.VisualizePath(model.ToModel(), info, file)
			return fmt.Errorf("%s: no order of its %d operations explains what was answered; see %s%s", name, len(h.ops), file, stuck(&info, h.ops))
		case porcupine.Unknown:
			return fmt.Errorf("%s: no verdict about %d operations (%d unknown) within %v", name, len(h.ops), h.unknown, checkTime)
		}
	}
	return nil
}

// stuck describes where the search for an order came furthest: the last operations that it placed, and the operations
// that it could not place.
func stuck(info *porcupine.LinearizationInfo, ops []porcupine.Operation) string {
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[[2]any]bool{}
	for _, o := range longest {
		placed[[2]any{o.ClientId, o.Call}] = true
	}
	var b strings.Builder
	line := func(what string, o porcupine.Operation) {
		fmt.Fprintf(&b, "\n%s %d %d…%d µs: %s", what, o.ClientId, o.Call/1000, o.Return/1000, taskModel.DescribeOperation(o.Input, o.Output))
	}
	for _, o := range longest[max(0, len(longest)-12):] {
		line("placed", o)
	}
	slices.SortFunc(ops, func(x, y porcupine.Operation) int { return cmp.Compare(x.Call, y.Call) })
	shown := 0
	for _, o := range ops {
		if !placed[[2]any{o.ClientId, o.Call}] && shown < 8 {
			shown++
			line("not placed", o)
		}
	}
	return b.String()
}

// TestLinearizable is the check itself: make linear SEED=1 FOR=10m.
func TestLinearizable(t *testing.T) {
	needsProcesses(t)
	c := startCluster(t, buildBinary(t))
	c.knowsCopies = true
	sum, violation := run(t, c, *seed, *duration)
	t.Logf("seed %d: %d histories, %d operations, %d without an answer (%.1f %%), the shortest history has %d; %d faults: %s",
		*seed, sum.cells, sum.ops, sum.unknown, 100*float64(sum.unknown)/float64(max(sum.ops, 1)), sum.fewest,
		len(sum.struck), strings.Join(sum.struck, ", "))
	if violation != nil {
		c.fail("%v", violation)
	}
	if sum.unknown*10 > sum.ops {
		t.Errorf("%d of %d operations have no known outcome: more than a tenth says too little", sum.unknown, sum.ops)
	}
	c.waitReady()
	c.digestsAgree()
}
