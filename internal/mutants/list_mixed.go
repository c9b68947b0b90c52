package main

// mixedMutants are seen by random schedules of whole clusters: by the audit of every entry that nodes apply, or by what
// callers were told that moved from node to node.
var mixedMutants = []mutant{
	{Name: "mixed-keys-ignored", File: "node/service/propose.go", Old: "if once, ok := api.OnceOf(ctx); ok {", New: "if once, ok := api.OnceOf(ctx); ok && once.Key == 0 {",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "a request sent again through another node would be done twice (H4)"},
	{Name: "mixed-events-skipped", File: "node/watch/ring.go", Old: ".rev > rev })", New: ".rev > rev+2 })",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "who goes on at another node would miss final states (W3)"},
	{Name: "mixed-key-slots", File: "task/limits.go", Old: "free := max(perKey-k.running, 0)", New: "free := max(perKey-k.running, 1)",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "one task too many of a key would run (L11)"},
	{Name: "mixed-key-not-held", File: "task/limits.go", Old: "return free, max(free-k.held, 0)", New: "return free, free",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "with strict order a retry would be overtaken (L11)"},
	{Name: "mixed-half-a-transaction", File: "task/txn.go", Old: "for i := range c.Deletes {\n\t\tm.mustDo", New: "for i := range c.Deletes[:0] {\n\t\tm.mustDo",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "a part of a transaction would not happen (X1)"},
	{Name: "mixed-request-given-more", File: "node/accept/table.go", Old: "len(ts) > 0 {\n\t\t\tt.repeats", New: "len(ts) < 0 {\n\t\t\tt.repeats",
		Pkg: "./internal/clustertest", Run: "TestRepeatedRequestID$", Why: "the same accept would get other tasks from the next leader (J2)"},
}
