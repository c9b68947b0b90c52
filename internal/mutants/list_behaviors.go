package main

// behaviorMutants sabotage behaviors, the way of a submit, drained members and the end of runs.
var behaviorMutants = []mutant{
	{Name: "node-submit-against-an-old-version", Dir: "node/service", In: "checks.submitNow", Old: "cmd.BehaviorRev, cmd.Trace = of.behavior.Rev,", New: "cmd.BehaviorRev, cmd.Trace = 0,",
		Pkg: "./internal/clustertest", Run: "TestChecksOfANodeThatIsBehind$", Why: "params that the active version does not take would be stored (B2)"},
	{Name: "node-refuses-by-an-old-state", Dir: "node/service", In: "checks.prepare", Old: "if err != nil && !c.fresh {", New: "if err != nil && c.fresh {",
		Pkg: "./internal/clustertest", Run: "TestChecksOfANodeThatIsBehind$", Why: "what was just activated through another node would be refused (W4)"},
	{Name: "node-kept-answers-forgotten", Dir: "node/service", In: "Service.kept", Old: "if once, keyed := api.OnceOf(ctx); keyed {", New: "if once, keyed := api.OnceOf(ctx); !keyed {",
		Pkg: "./node", Run: "TestIdempotencyKeys$", Why: "what was done under a key would be refused when it is asked again (H4)"},
	{Name: "node-keys-ignored", Dir: "node/service", In: "Service.propose", Old: "if once, ok := api.OnceOf(ctx); ok {", New: "if once, ok := api.OnceOf(ctx); !ok && once.Key > 0 {",
		Pkg: "./node", Run: "TestIdempotencyKeys$", Why: "a request sent again would happen twice (H4)"},
	{Name: "node-key-of-string-and-number", Dir: "node/identity", In: "keyText", Old: "return `\"` + s, err", New: "return s + \"\\x00\"[1:], err",
		Pkg: "./node/identity", Run: "TestConcurrencyKey$", Why: "\"1\" and 1 would share a key (L11)"},
	{Name: "node-key-too-long", Dir: "node/identity", In: "ConcurrencyKey", Old: "if size > maxConcurrencyKey {", New: "if size > maxConcurrencyKey+1 {",
		Pkg: "./node/identity", Run: "TestConcurrencyKeyRefuses$", Why: "a key has at most 256 bytes (L11)"},
	{Name: "node-policy-loses-a-limit", Dir: "node/policy", In: "Of", Old: "MaxConcurrent: s.MaxConcurrent,", New: "MaxConcurrent: 0 * s.MaxConcurrent,",
		Pkg: "./node/policy", Run: "TestManifestOfIsTheWayBack$", Why: "a limit in the manifest would not be kept (L11)"},
	{Name: "node-txn-null-for-left-out", Dir: "node/service", In: "Service.Txn", Old: "if t.Result.Encoding == task.None {", New: "if t.Result.Encoding == task.Bytes {",
		Pkg: "./node", Run: "TestTxn$", Why: "an answer would show null for a result that it leaves out (X1)"},
	{Name: "worker-unstoppable-guest-goes-on", Dir: "worker", In: "session.overdue", Old: "if left <= percent(s.ttl, overdueExit) && r.phase == executing && !r.overdue {", New: "if left <= -s.ttl && r.phase == executing && !r.overdue {",
		Pkg: "./worker", Run: "TestGuestThatOutlivesItsKillIsAnOverrun$", Why: "two workers would execute one task after the leader gave it away (L1, L7)"},
	{Name: "worker-late-run-not-stopped", Dir: "worker", In: "session.overdue", Old: "if left <= percent(s.ttl, overdueStop) {", New: "if left <= -s.ttl {",
		Pkg: "./worker", Run: "TestRunThatBeganLateIsStoppedInTime$", Why: "a run that waited long for its module would reach the end of its lease (L7)"},
	{Name: "worker-again-dropped", Dir: "worker", In: "again", Old: "rep.Finish.Again = task.Time(max(0, out.NextTime))", New: "rep.Finish.Again = task.Time(min(0, out.NextTime))",
		Pkg: "./worker", Run: "TestOutcomes$", Why: "what a run says about its next one would be lost (R4)"},
	{Name: "runtime-external-with-a-modules-field", Dir: "runtime/manifest", In: "ParseExternal", Old: "f.refuse(moduleFields[:])", New: "f.refuse(nil)",
		Pkg: "./runtime/manifest", Run: "TestParseExternalRefuses$", Why: "a field that nobody carries out would be accepted (B7)"},
}
