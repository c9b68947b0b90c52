package arch_test

import (
	"go/ast"
	"strings"
	"testing"
)

// stopwatches are the tests and their helpers that may look at how long something took: "file:function". A machine that
// stands still for seconds is an ordinary one: where time is not virtual, what a test asserts must hold however long it
// takes. Function literals given to synctest.Test, to clustertest.Run, or to a helper that gets there, need no entry.
var stopwatches = exceptions{
	"api/client/client_test.go:waits.Task":                           "a server in a bubble waits as long as it was asked to",
	"extworker/cluster_test.go:bench.after":                          "the bench is a bubble: goes to a point of virtual time",
	"extworker/cluster_test.go:cluster.Heartbeat":                    "the cluster lives in a bubble: when a beat came",
	"extworker/cluster_test.go:cluster.Snooze":                       "the cluster lives in a bubble: when a run ended",
	"extworker/cluster_test.go:cluster.finish":                       "the cluster lives in a bubble: when a run ended",
	"internal/e2e/apart_test.go:cluster.watchLeader":                 "of a machine that stood still nothing is demanded",
	"internal/e2e/apart_test.go:cluster.watchTurns":                  "of a machine that gave a node no CPU nothing is demanded",
	"internal/e2e/hostile_test.go:TestHostileClients":                "only logged",
	"internal/e2e/hostile_test.go:honest.submit":                     "how long it tries again",
	"internal/e2e/import_test.go:TestLargeImport":                    "only logged",
	"internal/e2e/spin_test.go:cluster.submitFor":                    "how long it submits",
	"internal/linear/client_test.go:cluster.request":                 "how long a key is sent again: as long as it is kept",
	"internal/linear/client_test.go:history.record":                  "what a history consists of",
	"internal/linear/heal_test.go:cluster.healEach":                  "only logged",
	"internal/linear/linear_test.go:run":                             "how long it goes on",
	"internal/linear/taskdriver_test.go:taskCell.accept":             "a slow accept is a case of its own in the history, not a failure",
	"internal/maintbench/maintenance_test.go:cluster.fill":           "of a benchmark",
	"internal/maintbench/maintenance_test.go:cluster.load":           "of a benchmark",
	"node/lead/loop_test.go:leaderBed.monoLocked":                    "the bed is a bubble: its clock",
	"node/saving/saving_test.go:cluster.apply":                       "the cluster lives in a bubble: its lease clock",
	"raftstore/bench_test.go:benchmarkPropose":                       "of a benchmark",
	"raftstore/cluster_test.go:testClock.Mono":                       "the cluster lives in a bubble: its clock",
	"raftstore/giveway_test.go:starved.Total":                        "the cluster lives in a bubble: a part of its time",
	"raftstore/guard/watch_test.go:idler.Delay":                      "the disk lives in a bubble: a part of its time",
	"raftstore/returns_test.go:TestReturningFollower":                "its cases run in bubbles",
	"runtime/busy_test.go:TestBusyWhileComputing":                    "what a guest computed is part of what it took, however long that was",
	"runtime/cacheversion_test.go:TestCacheIsBounded":                "a time of now, told from one that was set hours ago",
	"runtime/meter/bench_test.go:rounds":                             "of a benchmark",
	"runtime/meter/bench_test.go:takeTurns":                          "of a benchmark",
	"task/benchoperation_test.go:benchFanOut.entry":                  "of a benchmark",
	"task/benchstate_test.go:fillMeasured":                           "of a benchmark",
	"worker/hub_test.go:bench.at":                                    "the bench is a bubble: goes to a point of virtual time",
	"worker/hub_test.go:clock.now":                                   "the bench is a bubble: its clock",
	"worker/hub_test.go:hub.leaseNow":                                "the hub lives in the test's bubble: its clock",
	"worker/hub_test.go:hub.serve":                                   "the hub lives in the test's bubble: when a frame came",
	"worker/overdue_test.go:TestGuestThatOutlivesItsKillIsAnOverrun": "a guest in the bubble: when it was killed",
	"worker/overdue_test.go:bench.short":                             "the bench is a bubble: now",
	"worker/run_test.go:bench.since":                                 "the bench is a bubble: its clock",
	"worker/shutdown_test.go:bench.shutdown":                         "the bench is a bubble: how long it took",
}

// cpuClocks are those that may look at CPU time.
var cpuClocks = exceptions{
	"internal/trio/cpu_test.go:TestCPU":          "more than before, by however little",
	"internal/trio/cpu_test.go:TestCPUOfAnother": "more than nothing",
	"raftstore/bench_test.go:cpuTime":            "of benchmarks",
}

// TestNoStopwatch: a test that asserts on time fails on somebody's machine. Benchmarks measure, and assert nothing.
func TestNoStopwatch(t *testing.T) {
	t.Parallel()
	files := load(t)
	bubbles := bubblesOf(files, bubbleHelpers(files))
	times, cpu := used{}, used{}
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		fn := f.enclosing(call)
		if !f.test || bubblePackages[f.dir] != "" || strings.HasPrefix(fn, "Benchmark") || bubbles.hold(f, call) {
			return
		}
		key := f.path + ":" + fn
		switch {
		case isCall(call, "time", "Since") || isCall(call, "time", "Until"):
			if !times.allows(t, stopwatches, key) {
				t.Errorf("%s:%d measures time (%s)", f.path, f.line(call), key)
			}
		case isCall(call, "syscall", "Getrusage") || isCall(call, "unix", "Getrusage") || isCall(call, "trio", "CPU") || f.dir == "internal/trio" && isNamed(call, "CPU"):
			if !cpu.allows(t, cpuClocks, key) {
				t.Errorf("%s:%d measures CPU time (%s)", f.path, f.line(call), key)
			}
		}
	})
	times.complain(t, stopwatches)
	cpu.complain(t, cpuClocks)
}

// isNamed reports whether call is of a function of its own package.
func isNamed(call *ast.CallExpr, name string) bool {
	x, ok := call.Fun.(*ast.Ident)
	return ok && x.Name == name
}
