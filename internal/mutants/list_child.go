package main

// childMutants sabotage the processes in which guests run and modules are compiled (SPEC L5, L6).
var childMutants = []mutant{
	{Name: "child-never-overdue", Dir: "worker/child", In: "process.watch", Old: "if overdue {", New: "if overdue && c.why != \"\" {",
		Pkg: "./worker/child", Run: "TestStoppedChildIsKilled$", Why: "a child that is stopped would hold its tasks past the TTL, and execute them when it goes on (L1)"},
	{Name: "child-memory-unbounded", Dir: "worker/child", In: "process.watch", Old: "known && n > limit {", New: "known && n > 100*limit {",
		Pkg: "./worker/child", Run: "TestMemoryOfAChild$", Why: "guests' process would take the machine's memory"},
	{Name: "child-orphan-lives", Dir: "worker/child", In: "child.listen", Old: "os.Exit(exitOrphan)", New: "return",
		Pkg: "./worker/child", Run: "TestOrphanEnds$", Why: "a child whose server was killed would go on (L6)"},
	{Name: "child-table-late", Dir: "worker/child", In: "table.note", Old: "t.cells.At(i).Store(r.Token)", New: "_ = r.Token",
		Pkg: "./worker/child", Run: "TestCrashNamesWhatExecuted$", Why: "what died with a process would be given back, and kill the next one, and the next"},
	{Name: "child-table-stays", Dir: "worker/child", In: "table.note", Old: "t.cells.At(i).Store(0)", New: "_ = i",
		Pkg: "./worker/child", Run: "TestCrashForgetsWhatHasEnded$", Why: "what had ended long ago would be a suspect"},
	{Name: "child-alone-takes-two", Dir: "worker", In: "Worker.takesNothing", Old: "w.cfg.Alone && w.taken.Load()", New: "w.cfg.Alone && w.draining.Load()",
		Pkg: "./worker", Run: "TestAloneTakesOne$", Why: "two suspects in one process: which of them was it?"},
	{Name: "child-kill-starts-another", Dir: "worker/child", In: "Parent.start", Old: "if p.killed {", New: "if p.killed && p.slots == 0 {",
		Pkg: "./worker/child", Run: "TestKillStartsNoOther$", Why: "guests would outlive their node"},
	{Name: "suspects-beside-others", Dir: "node/lead", In: "loop.tellSuspects", Old: "case w.alone: l.prepareSuspects(m, w)", New: "case w.alone && wait && waited: l.prepareSuspects(m, w)",
		Pkg: "./node/lead", Run: "TestSuspectsHaveAProcessStarted$", Why: "a process for a suspect would wait for a module that nobody has it get"},
	{Name: "suspects-of-drained", Dir: "node/lead", In: "loop.tellSuspects", Old: "s == nil || m.Drained(s.Node)", New: "s == nil",
		Pkg: "./node/lead", Run: "TestDrainedNodeStartsNoProcess$", Why: "a node that is drained would start one process after another for nothing"},

	{Name: "compile-cpu-unbounded", Dir: "runtime/compiler", In: "answerer.limits", Old: "Cur: seconds, Max: seconds + 5", New: "Cur: 100 * seconds, Max: 100 * seconds",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-spin", Why: "a module would be compiled for ever"},
	{Name: "compile-memory-unbounded", Dir: "runtime/compiler", In: "watched.watch", Old: "over := n-w.linear.Load() > w.limit", New: "over := n-w.linear.Load() > 100*w.limit",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-hog", Why: "a module would take the machine's memory"},
	{Name: "compile-linear-counts", Dir: "runtime/compiler", In: "watched.watch", Old: "over := n-w.linear.Load() > w.limit", New: "over := n > w.limit",
		Pkg: "./runtime/compiler", Run: "TestLimits$/bad-guests", Why: "modules of much memory would be refused as too complex"},
	{Name: "compile-small-waits", Dir: "runtime/compiler", In: "places.nextLocked", Old: "if t.size <= smallModule && (best", New: "if t.size < 0 && (best",
		Pkg: "./runtime/compiler", Run: "TestPlaces$", Why: "a large module would hold up all others"},
	{Name: "compile-cache-written", Dir: "runtime/codecache", In: "Cache.Read", Old: "if err != nil { return nil, nil, fmt.Errorf(\"%w: %w\", errNotMade, err)", New: `if err != nil && digest == "" { return nil, nil, fmt.Errorf("%w: %w", errNotMade, err)`,
		Pkg: "./runtime/compiler", Run: "TestReadOnlyEngineWritesNothing$", Why: "the guests' process would write code that others execute"},
}
