package main

// memberMutants sabotage what is settled about members (SPEC C2).
var memberMutants = []mutant{
	{Name: "member-removed-forgotten", Dir: "task/roster", In: "Table.Settle", Old: "x.Removed = append(slices.Clone(x.Removed), remove)", New: "x.Removed = []string{remove}",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C2: a directory that was removed before the last one would come back"},
	{Name: "member-approval-keeps-force", Dir: "task/roster", In: "Table.Settle", Old: "x.Node, x.Vote, x.Force, x.Index = node, v, force, index", New: "x.Node, x.Vote, x.Force, x.Index = node, v, force || x.Force, index",
		Pkg: "./task/roster", Run: "TestSettle$", Why: "C2: the next removal would ask for no majority"},
	{Name: "member-lost-in-snapshots", Dir: "task/roster", In: "Table.Restore", Old: "t.take(x)", New: "_ = x",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C2: a removed node would come back after a snapshot"},
	{Name: "member-below-the-level", Dir: "task", In: "SetMember.level", Old: "return MembersLevel", New: "return FirstLevel",
		Pkg: "./task", Run: "TestScripts$/members", Why: "C9: the former build could not come back"},
	{Name: "member-evicts-voters", Dir: "task/roster", In: "Table.evict", Old: "x.Vote == Held && len(x.Removed) > 0 &&", New: "x.Vote != 9 &&",
		Pkg: "./task/roster", Run: "TestMany$", Why: "C2: an approval would be forgotten"},
}
