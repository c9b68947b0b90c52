package main

// childMutants sabotage the processes in which guests run and modules are compiled (SPEC L5, L6).
var childMutants = []mutant{
	{Name: "child-never-overdue", File: "worker/child/process.go", Old: "\t\tif overdue {\n", New: "\t\tif overdue && c.why != \"\" {\n",
		Pkg: "./worker/child", Run: "TestStoppedChildIsKilled$", Why: "a child that is stopped would hold its tasks past the TTL, and execute them when it goes on (L1)"},
	{Name: "child-memory-unbounded", File: "worker/child/process.go", Old: "known && n > limit {", New: "known && n > 100*limit {",
		Pkg: "./worker/child", Run: "TestMemoryOfAChild$", Why: "guests' process would take the machine's memory"},
	{Name: "child-orphan-lives", File: "worker/child/run.go", Old: "\t\t\tos.Exit(exitOrphan)\n", New: "\t\t\treturn\n",
		Pkg: "./worker/child", Run: "TestOrphanEnds$", Why: "a child whose server was killed would go on (L6)"},
	{Name: "child-table-late", File: "worker/child/running.go", Old: "\tt.cells.At(i).Store(r.Token)\n", New: "\t_ = r.Token\n",
		Pkg: "./worker/child", Run: "TestCrashNamesWhatExecuted$", Why: "what died with a process would be given back, and kill the next one, and the next"},
	{Name: "child-table-stays", File: "worker/child/running.go", Old: "\t\t\tt.cells.At(i).Store(0)\n", New: "\t\t\t_ = i\n",
		Pkg: "./worker/child", Run: "TestCrashForgetsWhatHasEnded$", Why: "what had ended long ago would be a suspect"},
	{Name: "child-alone-takes-two", File: "worker/worker.go", Old: "w.cfg.Alone && w.taken.Load()", New: "w.cfg.Alone && w.draining.Load()",
		Pkg: "./worker", Run: "TestAloneTakesOne$", Why: "two suspects in one process: which of them was it?"},
	{Name: "child-kill-starts-another", File: "worker/child/process.go", Old: "\tif p.killed {\n", New: "\tif p.killed && p.slots == 0 {\n",
		Pkg: "./worker/child", Run: "TestKillStartsNoOther$", Why: "guests would outlive their node"},
	{Name: "suspects-beside-others", File: "node/lead/suspects.go", Old: "\t\tcase w.alone:\n\t\t\tl.prepareSuspects(m, w)\n", New: "\t\tcase w.alone && wait && waited:\n\t\t\tl.prepareSuspects(m, w)\n",
		Pkg: "./node/lead", Run: "TestSuspectsHaveAProcessStarted$", Why: "a process for a suspect would wait for a module that nobody has it get"},
	{Name: "suspects-of-drained", File: "node/lead/suspects.go", Old: "s == nil || m.Drained(s.Node)", New: "s == nil",
		Pkg: "./node/lead", Run: "TestDrainedNodeStartsNoProcess$", Why: "a node that is drained would start one process after another for nothing"},

	{Name: "compile-cpu-unbounded", File: "runtime/compiler/run.go", Old: "Cur: seconds, Max: seconds + 5", New: "Cur: 100 * seconds, Max: 100 * seconds",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-spin", Why: "a module would be compiled for ever"},
	{Name: "compile-memory-unbounded", File: "runtime/compiler/service.go", Old: "over := n-w.linear.Load() > w.limit", New: "over := n-w.linear.Load() > 100*w.limit",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-hog", Why: "a module would take the machine's memory"},
	{Name: "compile-linear-counts", File: "runtime/compiler/service.go", Old: "over := n-w.linear.Load() > w.limit", New: "over := n > w.limit",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-guests", Why: "modules of much memory would be refused as too complex"},
	{Name: "compile-small-waits", File: "runtime/compiler/places.go", Old: "if t.size <= smallModule && (best", New: "if t.size < 0 && (best",
		Pkg: "./runtime/compiler", Run: "TestPlaces$", Why: "a large module would hold up all others"},
	{Name: "compile-cache-written", File: "runtime/cachereader.go", Old: "\tif err != nil {\n\t\treturn nil, nil, fmt.Errorf(\"%w: %w\", errNotMade, err)\n", New: "\tif err != nil && digest == \"\" {\n\t\treturn nil, nil, fmt.Errorf(\"%w: %w\", errNotMade, err)\n",
		Pkg: "./runtime/compiler", Run: "TestReadOnlyEngineWritesNothing$", Why: "the guests' process would write code that others execute"},
}
