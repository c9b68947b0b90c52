package main

// mixedMutants are seen by random schedules of whole clusters: by the audit of every entry that nodes apply, or by what
// callers were told that moved from node to node.
var mixedMutants = []mutant{
	{Name: "mixed-keys-ignored", Dir: "node/service", In: "Service.propose", Old: "if once, ok := api.OnceOf(ctx); ok {", New: "if once, ok := api.OnceOf(ctx); ok && once.Key == 0 {",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "a request sent again through another node would be done twice (H4)"},
	{Name: "mixed-events-skipped", Dir: "node/watch", In: "ring.after", Old: ".rev > rev })", New: ".rev > rev+2 })",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "who goes on at another node would miss final states (W3)"},
	{Name: "mixed-key-slots", Dir: "task/queue", In: "Key.slots", Old: "free := max(perKey-k.Running, 0)", New: "free := max(perKey-k.Running, 1)",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "one task too many of a key would run (L11)"},
	{Name: "mixed-key-not-held", Dir: "task/queue", In: "Key.slots", Old: "return free, max(free-k.Held, 0)", New: "return free, free",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "with strict order a retry would be overtaken (L11)"},
	{Name: "mixed-half-a-transaction", Dir: "task", In: "Txn.apply", Old: "for i := range c.Deletes { m.mustDo", New: "for i := range c.Deletes[:0] { m.mustDo",
		Pkg: "./internal/clustertest", Run: "TestMixedSchedules$", Why: "a part of a transaction would not happen (X1)"},
	{Name: "mixed-request-given-more", Dir: "node/accept", In: "Table.Ask", Old: "len(ts) > 0 { t.repeats", New: "len(ts) < 0 { t.repeats",
		Pkg: "./internal/clustertest", Run: "TestRepeatedRequestID$", Why: "the same accept would get other tasks from the next leader (J2)"},
}
