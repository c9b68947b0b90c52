package main

// childrenMutants sabotage the child tasks that guests submit (SPEC B6).
var childrenMutants = []mutant{
	{Name: "children-finish-without-them", Dir: "node/lead", In: "reportPump.proposeFamily", Old: "finish.InTxn = true", New: "finish.InTxn = false",
		Pkg: "./node/lead", Run: "TestFamilies$", Why: "the question whether the run is over would end it, without its children"},
	{Name: "children-lost-by-a-finish-alone", Dir: "task", In: "Finish.apply", Old: "if c.InTxn {", New: "if c.InTxn && c.External {",
		Pkg: "./task", Run: "TestScripts/txn", Why: "a success would stand without its children"},
	{Name: "children-refused-though-committed", Dir: "node/lead", In: "reportPump.proposeFamily", Old: "case told[0].Code != task.Conflict:", New: "case told[0].Code == task.Halt:",
		Pkg: "./node/lead", Run: "TestFamilies$", Why: "a success whose answer was lost would be reported as a failure"},
	{Name: "children-left-out", Dir: "node/lead", In: "reportPump.tryFamily", Old: "Submits: submits, Finishes", New: "Submits: submits[:0], Finishes",
		Pkg: "./internal/clustertest", Run: "TestChildren$", Why: "a success would have no children"},
	{Name: "children-under-other-ids", Dir: "node/service", In: "checks.child", Old: "parent.Token, number}", New: "0, number}",
		Pkg: "./internal/clustertest", Run: "TestChildren$", Why: "a task that repeats would join the children of its last success"},
	{Name: "children-overtake-a-beat", Dir: "node/lead", In: "reportPump.takeLocked", Old: "|| stays[token(r)]", New: "",
		Pkg: "./node/lead", Run: "TestFamiliesKeepTheOrder$", Why: "the finish would go before the checkpoint"},
	{Name: "children-among-other-reports", Dir: "node/lead", In: "reportPump.takeLocked", Old: "isFamily(batch[0]) != isFamily(r)", New: "len(batch) < 0",
		Pkg: "./node/lead", Run: "TestFamiliesBehindABusyToken$", Why: "a success would be proposed without its children, and refused"},
	{Name: "children-lost-with-the-blob", Dir: "worker", In: "run.storeAgain", Old: "rep.Finish = &again", New: "rep = stream.Report{Finish: &again}",
		Pkg: "./worker", Run: "TestResultWhoseBlobIsGone", Why: "a result that is stored again would be reported without its children"},
	{Name: "children-of-any-behavior", Dir: "runtime/grants", In: "Attempt.MaySubmit", Old: "if !a.Known || !a.Grants.Tasks(a.Namespace, a.Behavior, behavior) {", New: "if !a.Known {",
		Pkg: "./runtime", Run: "TestChildrenAreGranted$", Why: "a guest would submit what its operator did not grant (B6)"},
	{Name: "fetch-responses-uncharged", Dir: "runtime", In: "guest.request", Old: "if !g.hold(room) {", New: "if !g.hold(0) {",
		Pkg: "./runtime", Run: "TestResponsesCountTowardsTheBudget$", Why: "guests' responses could take all of a node's memory"},
	{Name: "fetch-rebinding", Dir: "runtime/fetch", In: "Client.transport", Old: "return r.reaches(address)", New: "return nil",
		Pkg: "./runtime/fetch", Run: "TestRebinding$", Why: "a name could lead into the operator's network (B6)"},
	{Name: "children-of-a-failure", Dir: "worker", In: "run.succeeded", Old: "rep.Children, rep.Finish.InTxn = out.Children, len(out.Children) > 0", New: "rep.Children = out.Children",
		Pkg: "./worker", Run: "TestRefusedChildrenFailTheAttempt$", Why: "a success that came without them would be taken"},
}
