package main

// auditMutants sabotage the record of who changed what (SPEC A8).
var auditMutants = []mutant{
	{Name: "audit-refusals-of-apply", Dir: "task", In: "Machine.turnedAway", Old: "noted(m, c, m.stamped(", New: "noted(m, &Caller{}, m.stamped(",
		Pkg: "./task", Run: "TestScripts$", Why: "A8: what a revoked token tries leaves no trace"},
	{Name: "audit-own-name", Dir: "task", In: "noted", Old: "Name: m.callerName,", New: "Name: m.Access().Name(c.Token),",
		Pkg: "./task", Run: "TestScripts$", Why: "A8: the token that revokes itself has no name in the record"},
	{Name: "audit-texts-unbounded", Dir: "task", In: "Machine.turnedAway", Old: `audit.Wrong(c.From, c.Route, c.Target)`, New: `audit.Wrong("", c.Route[:0], "")`,
		Pkg: "./task", Run: "TestScripts$", Why: "A8: a record takes as much memory as its caller likes"},
	{Name: "audit-never-old", Dir: "task", In: "Tick.apply", Old: "m.audit.Expire(int64(m.now), m.limits.Sweep) || m.tickChange", New: "m.tickChange",
		Pkg: "./task", Run: "TestScripts$", Why: "A8: records are kept for ever"},
	{Name: "audit-no-tick", Dir: "task", In: "Machine.NextTick", Old: "m.access.Next(), m.audit.Next()", New: "m.access.Next()",
		Pkg: "./task", Run: "TestScripts$", Why: "A8: a record goes only when something else is due"},
	{Name: "audit-refusals-push", Dir: "task/audit", In: "Table.ring", Old: "if x.Refused() {", New: "if false {",
		Pkg: "./task/audit", Run: "TestBounded$", Why: "A8: a flood of refusals pushes the changes out"},
	{Name: "audit-flood", Dir: "task/audit", In: "Table.Refuse", Old: "if lately >= maxRefusals {", New: "if lately < 0 {",
		Pkg: "./task/audit", Run: "TestBounded$", Why: "A8: whoever is refused fills the log"},
	{Name: "audit-no-minute", Dir: "task/audit", In: "Table.Refuse", Old: "r.row(i).at > x.At-refusalEvery", New: "r.row(i).at > x.At-refusalPause",
		Pkg: "./task", Run: "TestScripts$", Why: "A8: a refusal is recorded each second"},
	{Name: "audit-order", Dir: "task/audit", In: "View.After", Old: "a.row(i).number < b.row(j).number", New: "a.row(i).number > b.row(j).number",
		Pkg: "./internal/sim", Run: "TestSim$", Why: "A8: records do not come in the order of the log, and a cursor skips some"},
	{Name: "audit-order-restored", Dir: "task/audit", In: "Table.Add", Old: "r.n > 0 && r.row(r.n-1).number >= x.Number", New: "false",
		Pkg: "./task/audit", Run: "TestTable$", Why: "A8: a damaged snapshot is taken"},
}
